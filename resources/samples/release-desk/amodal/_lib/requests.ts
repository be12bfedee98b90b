export interface ChangeRequest {
  id: string;
  title: string;
  owner: string;
  rollback_plan: string;
  touches: string[];
}

const REQUESTS: readonly ChangeRequest[] = [
  {
    id: 'cr-2207',
    title: 'Split captured and authorised amounts',
    owner: 'maria@northwind.example',
    rollback_plan: 'Restore the view payments_v111; no data is dropped before 4.13.',
    touches: ['payments.schema.0112', 'checkout-api', 'receipt-mailer'],
  },
  {
    id: 'cr-2211',
    title: 'Correct the rounding of discounts',
    owner: 'aiko@northwind.example',
    rollback_plan: 'Deploy 4.12.0 again.',
    touches: ['checkout-api'],
  },
];

export function findRequest(id: unknown): ChangeRequest {
  const request = REQUESTS.find((candidate) => candidate.id === id);
  if (!request) {
    throw new Error(`There is no change request ${JSON.stringify(id)}.`);
  }
  return request;
}

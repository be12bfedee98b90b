export interface Release {
  id: string;
  request: string;
  commit: string;
  version: string;
  region: string;
  rollback: boolean;
  changes: { id: string; title: string; author: string }[];
  migrations: { id: string; table: string; reversible: boolean }[];
  tests: { passed: number; failed: number; skipped: number };
  stores: number;
}

const RELEASES: readonly Release[] = [
  {
    id: 'rel-481',
    request: 'cr-2207',
    commit: '9f3c2ae',
    version: '4.12.0',
    region: 'eu-west',
    rollback: true,
    changes: [
      { id: 'PAY-881', title: 'Split captured and authorised amounts', author: 'maria@northwind.example' },
      { id: 'PAY-902', title: 'Retry declined captures once after two minutes', author: 'jonas@northwind.example' },
      { id: 'WEB-1440', title: 'Show the store on the receipt', author: 'aiko@northwind.example' },
    ],
    migrations: [{ id: 'payments.schema.0112', table: 'payments', reversible: true }],
    tests: { passed: 1312, failed: 0, skipped: 4 },
    stores: 41,
  },
  {
    id: 'rel-482',
    request: 'cr-2211',
    commit: '41d07bc',
    version: '4.12.1',
    region: 'eu-west',
    rollback: true,
    changes: [{ id: 'WEB-1451', title: 'Correct the rounding of discounts', author: 'aiko@northwind.example' }],
    migrations: [],
    tests: { passed: 1314, failed: 0, skipped: 4 },
    stores: 41,
  },
];

export function findRelease(id: unknown): Release {
  const release = RELEASES.find((candidate) => candidate.id === id);
  if (!release) {
    throw new Error(`There is no release ${JSON.stringify(id)}. Known: ${RELEASES.map(({ id }) => id).join(', ')}.`);
  }
  return release;
}

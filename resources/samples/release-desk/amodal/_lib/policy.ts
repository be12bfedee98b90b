export const POLICIES: Readonly<Record<string, { rule: string; text: string }>> = {
  'payment-schema': {
    rule: 'releases-7',
    text: 'The target is chosen by a person for every release that changes the payment schema.',
  },
  default: {
    rule: 'releases-1',
    text: 'Releases without migrations may go to staging at any time.',
  },
};

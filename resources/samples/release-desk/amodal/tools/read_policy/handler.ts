import { POLICIES } from '../../_lib/policy.js';

export default async function (params: { topic: string }) {
  return { topic: params.topic, policy: POLICIES[params.topic] ?? POLICIES.default };
}

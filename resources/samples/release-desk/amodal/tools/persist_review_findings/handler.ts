import { findRequest } from '../../_lib/requests.js';
import { readVerdict } from '../../_lib/verdicts.js';

interface Params {
  request_id: string;
  findings: { completeness: string; policy: string };
}

export default async function (params: Params) {
  const { id } = findRequest(params.request_id);
  const completeness = readVerdict('prescreen-reviewer', params.findings.completeness);
  const policy = readVerdict('policy-reviewer', params.findings.policy);
  if (typeof completeness.complete !== 'boolean' || typeof policy.verdict !== 'string') {
    throw new Error(`The findings for ${id} lack "complete" or "verdict".`);
  }
  return { stored: true, key: id, findings: { completeness, policy } };
}

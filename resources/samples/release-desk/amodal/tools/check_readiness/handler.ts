import { readVerdict } from '../../_lib/verdicts.js';
import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: { release_id: string; changes: object }, ctx: ToolContext) {
  const [tests, judged] = await Promise.all([
    ctx.callTool('read_test_report', { release_id: params.release_id }),
    ctx.callSubagent('risk-reviewer', 'Judge the risk of this release.', params.changes),
  ]);
  if (tests.failed > 0) {
    throw new Error(`${tests.failed} tests of ${params.release_id} fail; it cannot be released.`);
  }
  return { tests, ...readVerdict('risk-reviewer', judged) };
}

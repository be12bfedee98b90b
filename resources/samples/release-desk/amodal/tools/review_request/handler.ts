import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: { request_id: string }, ctx: ToolContext) {
  const request = await ctx.callTool('load_request', { request_id: params.request_id });
  const [completeness, policy] = await Promise.all([
    ctx.callSubagent('prescreen-reviewer', 'Check field completeness.', request),
    ctx.callSubagent('policy-reviewer', 'Review policy requirements.', request),
  ]);
  const saved = await ctx.callTool('persist_review_findings', {
    request_id: params.request_id,
    findings: { completeness, policy },
  });
  return { request_id: params.request_id, findings: saved.findings };
}

import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: { ticket_id: string }, ctx: ToolContext) {
  const ticket = await ctx.callTool('load_ticket', { ticket_id: params.ticket_id });
  ctx.emitReasoning?.(`${ticket.customer} has written on ${ticket.opened}.`);
  const [tone, policy] = await Promise.all([
    ctx.callSubagent('tone-reviewer', 'Say how the customer feels.', ticket),
    ctx.callSubagent('policy-reviewer', 'Say whether a replacement is allowed.', ticket),
  ]);
  ctx.log('Both reviewers have answered.');
  return await ctx.callTool('save_review', { ticket_id: params.ticket_id, tone, policy });
}

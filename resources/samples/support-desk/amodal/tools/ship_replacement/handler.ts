import type { ToolContext } from '../../_types/tool-context.js';

const WAREHOUSES = ['porto', 'lisbon'];

export default async function (params: { ticket_id: string }, ctx: ToolContext) {
  const ticket = await ctx.callTool('load_ticket', { ticket_id: params.ticket_id });
  if (!ticket) throw new Error(`There is no ticket ${params.ticket_id}.`);
  const answer = await ctx.requestInput({
    question: `From which warehouse does the replacement for ${ticket.customer} go out?`,
    inputType: 'choice',
    options: [
      { value: 'porto', label: 'Porto', sub: 'Arrives tomorrow', recommended: true },
      { value: 'lisbon', label: 'Lisbon', sub: 'Arrives on Friday' },
    ],
    context: { ticket_id: params.ticket_id, order: ticket.order, article: 'Kettle, 1.7 l' },
  });
  if (!WAREHOUSES.includes(String(answer.value))) throw new Error(`There is no warehouse ${answer.value}.`);
  const parcel = await ctx.callTool('book_parcel', { order: ticket.order, warehouse: answer.value });
  return { ticket_id: params.ticket_id, warehouse: answer.value, parcel: parcel.number };
}

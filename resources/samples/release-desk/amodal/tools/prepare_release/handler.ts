import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: { release_id: string }, ctx: ToolContext) {
  const changes = await ctx.callTool('collect_changes', params);
  const readiness = await ctx.callTool('check_readiness', { ...params, changes });
  return {
    release: params.release_id,
    titles: changes.titles,
    migrations: changes.migrations,
    risk: readiness.risk,
    because: readiness.because,
  };
}

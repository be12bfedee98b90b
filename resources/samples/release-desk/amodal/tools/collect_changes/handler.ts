import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: { release_id: string }, ctx: ToolContext) {
  const [changelog, migrations] = await Promise.all([
    ctx.callTool('read_changelog', params),
    ctx.callTool('read_migrations', params),
  ]);
  return { titles: changelog.changes.map(({ title }: { title: string }) => title), migrations: migrations.ids };
}

import { findRelease } from '../../_lib/releases.js';
import { TARGETS, isTarget } from '../../_lib/targets.js';
import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: { release_id: string; target: unknown }, ctx: ToolContext) {
  const release = findRelease(params.release_id);
  if (!isTarget(params.target)) {
    throw new Error(`${JSON.stringify(params.target)} is no release target. Use ${TARGETS.join(' or ')}.`);
  }
  const rollout = await ctx.callTool('start_rollout', { release_id: release.id, target: params.target });
  const smoke = await ctx.callTool('run_smoke_tests', { rollout_id: rollout.rollout_id });
  return { rollout_id: rollout.rollout_id, version: release.version, stores: rollout.stores, smoke_tests: smoke.passed };
}

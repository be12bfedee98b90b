import { findRelease } from '../../_lib/releases.js';
import { HOLD } from '../../_lib/targets.js';
import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: { release_id?: string }, ctx: ToolContext) {
  const release = findRelease(params.release_id ?? 'rel-481');
  const [prepared, review] = await Promise.all([
    ctx.callTool('prepare_release', { release_id: release.id }),
    ctx.callTool('review_request', { request_id: release.request }),
  ]);
  ctx.emitReasoning?.(`Rule ${review.findings.policy.rule} leaves the target to a person.`);

  const target = await ctx.requestInput({
    question: `Where should release ${release.id} run?`,
    inputType: 'choice',
    options: [
      {
        value: 'staging',
        label: 'Staging',
        sub: 'Next: run_release to staging, then smoke tests. No customer sees it.',
        recommended: true,
      },
      {
        value: 'production',
        label: 'Production',
        sub: `Next: run_release goes live in ${release.region} for ${release.stores} stores.`,
      },
      { value: HOLD, label: 'Do not release', sub: 'Next: the run ends. The build stays available for 14 days.' },
    ],
    context: {
      release: release.id,
      commit: release.commit,
      migrates: prepared.migrations,
      rollback: release.rollback,
      stores: release.stores,
      risk: prepared.risk,
      why: review.findings.policy.because,
    },
  });
  if (target.value === HOLD) {
    return { release: release.id, released: false, note: target.note ?? null };
  }

  const result = await ctx.callTool('run_release', { release_id: release.id, target: target.value });
  await ctx.callTool('announce_release', { release_id: release.id, target: target.value });
  return { release: release.id, released: true, target: target.value, result };
}

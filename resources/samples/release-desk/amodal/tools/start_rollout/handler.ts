import { findRelease } from '../../_lib/releases.js';
import type { Target } from '../../_lib/targets.js';

export default async function (params: { release_id: string; target: Target }) {
  const release = findRelease(params.release_id);
  return {
    rollout_id: `${release.id}-${params.target}-${release.commit}`,
    region: release.region,
    stores: params.target === 'production' ? release.stores : 1,
  };
}

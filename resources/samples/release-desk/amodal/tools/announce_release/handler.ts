import { findRelease } from '../../_lib/releases.js';

export default async function (params: { release_id: string; target: string }) {
  const { version, stores } = findRelease(params.release_id);
  const told = params.target === 'production' ? stores : 0;
  return { message: `${version} is on ${params.target}.`, stores_told: told };
}

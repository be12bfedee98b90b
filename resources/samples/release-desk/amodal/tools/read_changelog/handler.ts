import { findRelease } from '../../_lib/releases.js';

export default async function (params: { release_id: string }) {
  const { version, changes } = findRelease(params.release_id);
  return { version, changes };
}

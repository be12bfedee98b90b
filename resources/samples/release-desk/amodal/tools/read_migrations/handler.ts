import { findRelease } from '../../_lib/releases.js';

export default async function (params: { release_id: string }) {
  const { migrations } = findRelease(params.release_id);
  return { ids: migrations.map(({ id }) => id), reversible: migrations.every(({ reversible }) => reversible) };
}

import { findRelease } from '../../_lib/releases.js';

export default async function (params: { release_id: string }) {
  return findRelease(params.release_id).tests;
}

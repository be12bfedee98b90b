import { findRequest } from '../../_lib/requests.js';

export default async function (params: { request_id: string }) {
  return findRequest(params.request_id);
}

from ..._lib.cases import DISPUTES, find


async def handler(params, ctx):
    dispute = find("dispute", DISPUTES, params["dispute_id"])
    return {"dispute_id": params["dispute_id"], "filed": params["note"], "before": dispute["reply_until"]}

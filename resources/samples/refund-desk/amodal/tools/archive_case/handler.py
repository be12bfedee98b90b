from ..._lib.cases import CASES, find


async def handler(params, ctx):
    find("case", CASES, params["case_id"])
    return {"archived": params["case_id"]}

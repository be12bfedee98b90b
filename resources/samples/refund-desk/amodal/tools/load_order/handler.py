from ..._lib.cases import ORDERS, find


async def handler(params, ctx):
    return find("order", ORDERS, params["order_id"])

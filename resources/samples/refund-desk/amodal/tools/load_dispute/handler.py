from ..._lib.cases import DISPUTES, find
from ..._lib.money import show


async def handler(params, ctx):
    dispute = find("dispute", DISPUTES, params["dispute_id"])
    order = await ctx.call_tool("load_order", {"order_id": dispute["order_id"]})
    return {
        "dispute": params["dispute_id"],
        **dispute,
        "customer": order["customer"],
        "amount": show(order["total"], order["currency"]),
    }

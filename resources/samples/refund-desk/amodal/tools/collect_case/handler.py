import asyncio

from ..._lib.cases import CASES, find


async def handler(params, ctx):
    case = find("case", CASES, params["case_id"])
    amount = params.get("amount", case["amount"])
    order = await ctx.call_tool("load_order", {"order_id": case["order_id"]})
    customer, policy = await asyncio.gather(
        ctx.call_tool("load_customer", {"customer": order["customer"]}),
        ctx.call_tool("check_policy", {"amount": amount, "customer": order["customer"]}),
    )
    if customer is None:
        raise ValueError(f"There is no customer {order['customer']!r}.")
    refund = {
        "amount": amount,
        "currency": order["currency"],
        "order_id": case["order_id"],
        "customer": order["customer"],
        "note": case["note"],
        "notify": True,
    }
    return {"refund": refund, "order": order, "customer": customer, "policy": policy}

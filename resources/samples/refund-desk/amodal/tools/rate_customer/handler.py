from ..._lib.cases import CUSTOMERS, find


async def handler(params, ctx):
    refunds = find("customer", CUSTOMERS, params["customer"])["refunds_this_year"]
    return {"refunds_this_year": refunds, "rating": "often" if refunds > 3 else "seldom"}

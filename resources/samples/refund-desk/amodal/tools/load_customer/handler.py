from ..._lib.cases import CUSTOMERS, find


async def handler(params, ctx):
    return find("customer", CUSTOMERS, params["customer"])

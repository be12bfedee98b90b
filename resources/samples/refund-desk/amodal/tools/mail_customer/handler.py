from ..._lib.cases import CUSTOMERS, find


async def handler(params, ctx):
    customer = find("customer", CUSTOMERS, params["customer"])
    return {"to": customer["mail"], "subject": f"Your refund {params['receipt']}"}

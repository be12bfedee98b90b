from ..._lib.money import cents


async def handler(params, ctx):
    refund = params["refund"]
    return {
        "receipt": f"{params['case_id']}-{refund['customer']}",
        "amount": cents(refund["amount"]),
        "currency": refund["currency"],
    }

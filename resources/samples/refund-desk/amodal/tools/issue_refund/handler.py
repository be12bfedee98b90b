async def handler(params, ctx):
    refund = params["refund"]
    return {
        "receipt": f"{params['case_id']}-{refund['customer']}",
        "amount": refund["amount"],
        "currency": refund["currency"],
    }

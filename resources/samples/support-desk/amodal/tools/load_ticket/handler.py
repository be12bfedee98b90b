from ..._lib.tickets import find


async def handler(params, ctx):
    return find(params["ticket_id"])

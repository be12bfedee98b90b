async def handler(params, ctx):
    return {"number": f"{params['warehouse'][:3].upper()}-{params['order'].removeprefix('ord-')}"}

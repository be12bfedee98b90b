from ..._lib.answers import words

LIMIT = 2000


async def handler(params, ctx):
    dispute = await ctx.call_tool("load_dispute", {"dispute_id": params["dispute_id"]})
    question = f"What should the bank be told about dispute {params['dispute_id']}?"
    while True:
        answer = await ctx.request_input({"question": question, "input_type": "text", "context": dispute})
        note = words(answer["value"])
        if note and len(note) <= LIMIT:
            break
        wrong = f"The note has {len(note)} characters, {LIMIT} fit." if note else "The note was empty."
        question = f"{wrong} What should the bank be told about dispute {params['dispute_id']}?"
    return await ctx.call_tool("file_note", {"dispute_id": params["dispute_id"], "note": note})

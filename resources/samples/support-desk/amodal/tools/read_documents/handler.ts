import type { ToolContext } from '../../_types/tool-context.js';

export default async function (params: object, ctx: ToolContext) {
  const results = await Promise.all(
    (ctx.attachments ?? []).map((file) =>
      ctx.callSubagent(
        'document-extractor',
        "Extract the document's facts and cite the supporting text.",
        { filename: file.filename },
        { attachments: [file] },
      ),
    ),
  );
  return { results };
}

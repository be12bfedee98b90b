/** The JSON object in a reviewer's answer; words around it are allowed. */
export function readVerdict(reviewer: string, text: string): Record<string, unknown> {
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  try {
    return JSON.parse(text.slice(from, to + 1));
  } catch {
    throw new Error(`${reviewer} did not answer with a JSON object: ${text.slice(0, 200)}`);
  }
}

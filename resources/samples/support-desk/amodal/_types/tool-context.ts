/** The members of ctx that the tools of this repository use. */
export interface ToolContext {
  callTool(name: string, params: Record<string, unknown>): Promise<any>;
  callSubagent(name: string, task: string, input?: unknown, options?: { attachments?: Attachment[] }): Promise<string>;
  requestInput(args: InputRequest): Promise<InputAnswer>;
  attachments?: Attachment[];
  emitReasoning?(text: string): void;
  setLabel?(label: { running?: string; completed?: string }): void;
  log(message: string): void;
}

export interface Attachment {
  filename: string;
  mimeType: string;
  data: string;
}

export interface InputRequest {
  question: string;
  inputType?: 'text' | 'choice' | 'yesno';
  options?: InputOption[];
  context?: unknown;
}

export interface InputOption {
  value: string;
  label: string;
  sub?: string;
  recommended?: boolean;
}

export interface InputAnswer {
  value: unknown;
  note?: string;
  respondedBy?: string;
}

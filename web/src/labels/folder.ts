// Texts about folders whose files agents take as the operator's.
import { joinList } from "../text/number";

export const folder = {
  agents: (agents: readonly string[]) => (agents.length === 0 ? "" : `Workspace of ${joinList(agents)}.`),
  answerAction: "record the answer",
  distrust: "Stop trusting",
  distrusted: "not trusted",
  filesAction: "load the files",
  filesLoading: "Loading files",
  filesMore: "There are more files.",
  filesNone: "No file is left as these actions wrote it.",
  lede: "Agents take the files of a trusted folder as yours. What was written with untrusted data stays untrusted until you review it.",
  listAction: "load the folders",
  loading: "Loading folders",
  none: "No folders yet",
  noneHint: "The workspaces of agents appear here.",
  review: "Review",
  reviewAction: "record the review",
  reviewButton: "I have reviewed these files",
  reviewHint: "What is written after this list was loaded stays untrusted.",
  reviewTitle: (path: string) => `Review ${path}`,
  title: "Trusted folders",
  toReview: (count: number) =>
    count === 0 ? "" : `${count} ${count === 1 ? "action" : "actions"} with untrusted data to review.`,
  trust: "Trust",
  trusted: "trusted",
  with: (verb: string, path: string) => `${verb} ${path}`,
  writtenBy: (agent: string, tool: string) => `by ${agent} with ${tool}`,
};

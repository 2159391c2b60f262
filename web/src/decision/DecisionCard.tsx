import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { answerDecision } from "../api/calls";
import { asFailure } from "../api/failure";
import { ACTIVITY_KEYS, ATTENTION_KEYS, invalidate } from "../api/keys";
import { endedDecisionQuery, fullDecisionQuery } from "../api/queries";
import type { Decision } from "../api/types";
import { labels } from "../labels";
import { WhyVerdict } from "../policy/WhyVerdict";
import { AttentionCard } from "../ui/AttentionCard";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { useHeldHeight } from "../ui/useHeldHeight";
import { type AnswerChoice, AnswerForm } from "./AnswerForm";
import { DecisionEnd } from "./DecisionEnd";
import { DecisionFacts } from "./DecisionFacts";
import { DecisionInput } from "./DecisionInput";
import { severityText } from "./text";

/** The tools whose decisions have the changes in files. */
const WRITING_TOOLS = ["WriteFile", "EditFile", "ApplyPatch"];

interface DecisionCardProps {
  decision: Decision;
  /** Whether the decision has ended; its card then shows how it ended. */
  isGone: boolean;
  /** Removes the card of a decision that has ended. */
  onDismiss: () => void;
}

/**
 * A decision with everything that the answer depends on. After the answer the card keeps its place, and its height
 * while the pointer is on it, so that a second click at the same spot does not reach the next card.
 */
export function DecisionCard({ decision, isGone, onDismiss }: DecisionCardProps) {
  const id = decision.decision_id;
  const client = useQueryClient();
  // A ref, because the second click of a double click arrives before the buttons are rendered as disabled.
  const isSent = useRef(false);
  const answering = useMutation({
    // The version names the text that was on the screen: the server refuses an answer to an older one.
    mutationFn: ({ option, note }: AnswerChoice) =>
      answerDecision(id, { option, version: decision.version, ...(note === "" ? {} : { note }) }),
    onSuccess: () => invalidate(client, [...ATTENTION_KEYS, ...ACTIVITY_KEYS]),
    onError: () => {
      isSent.current = false;
      return invalidate(client, ATTENTION_KEYS);
    },
  });
  const answer = (choice: AnswerChoice) => {
    if (isSent.current) return;
    isSent.current = true;
    answering.mutate(choice);
  };
  const isLost = answering.error !== null && asFailure(answering.error).code === "decision_closed";
  const isAnsweredElsewhere = !answering.isSuccess && (isLost || (isGone && !answering.isPending));
  const elsewhere = useQuery({ ...endedDecisionQuery(id), enabled: isAnsweredElsewhere });
  const isOpen = !answering.isSuccess && !(isAnsweredElsewhere && elsewhere.data?.status !== "pending");

  // The list has only the start of long arguments, and no changes. Nothing can be approved before all of it was on the screen.
  const needsFull = decision.is_input_cut || WRITING_TOOLS.includes(decision.tool);
  const full = useQuery({ ...fullDecisionQuery(id), enabled: isOpen && needsFull });
  return (
    <div {...useHeldHeight(isOpen)}>
      <AttentionCard
        icon={isOpen ? "bell" : "check"}
        agentId={decision.agent_id}
        badges={<Badges decision={decision} />}
        headline={decision.title}
      >
        <DecisionInput
          decision={full.data ?? decision}
          isFetching={full.isFetching}
          error={full.error}
          onRetry={() => void full.refetch()}
        />
        {isOpen ? (
          <>
            <DecisionFacts decision={decision} />
            <WhyVerdict runKey={decision.run_key} operationId={decision.operation_id} tool={decision.tool} />
            {answering.error && !isLost && (
              <ErrorNotice action={labels.decision.answerAction} error={answering.error} />
            )}
            <AnswerForm
              decision={decision}
              isSending={answering.isPending}
              isInputShown={!decision.is_input_cut || full.data?.is_input_cut === false}
              onAnswer={answer}
            />
          </>
        ) : (
          <DecisionEnd
            decision={answering.data ?? elsewhere.data}
            isAnsweredHere={answering.isSuccess}
            onDismiss={onDismiss}
          />
        )}
      </AttentionCard>
    </div>
  );
}

function Badges({ decision }: { decision: Decision }) {
  const severity = severityText(decision.severity);
  return (
    <>
      <Badge tone={severity.tone}>{severity.text}</Badge>
      {decision.badges.includes("timed_out") && (
        <>
          {" "}
          <Badge tone="bad">{labels.decision.overdue}</Badge>
        </>
      )}
    </>
  );
}

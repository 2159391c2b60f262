import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answerDecision, getDecision } from "../api/calls";
import { asFailure } from "../api/failure";
import { ACTIVITY_KEYS, ATTENTION_KEYS, invalidate } from "../api/keys";
import { fullDecisionQuery } from "../api/queries";
import type { Decision } from "../api/types";
import { labels } from "../labels";
import { AttentionCard } from "../ui/AttentionCard";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";
import { DecisionFacts } from "./DecisionFacts";
import { DecisionInput } from "./DecisionInput";
import { DecisionOptions } from "./DecisionOptions";
import { answerElsewhereText, severityText } from "./text";

/** The server's limit. */
const NOTE_CHARS_MAX = 2_000;

interface DecisionCardProps {
  decision: Decision;
  /** Called with the closed decision when it was answered elsewhere first. */
  onAnsweredElsewhere: (decision: Decision) => void;
}

/** A pending decision with everything that the answer depends on, and the answers as buttons. */
export function DecisionCard({ decision, onAnsweredElsewhere }: DecisionCardProps) {
  const id = decision.decision_id;
  const [note, setNote] = useState("");
  const client = useQueryClient();
  const answering = useMutation({
    // The version names the text that was on the screen: the server refuses an answer to an older one.
    mutationFn: (option: string) =>
      answerDecision(id, { option, version: decision.version, ...(note.trim() === "" ? {} : { note: note.trim() }) }),
    onSuccess: () => invalidate(client, [...ATTENTION_KEYS, ...ACTIVITY_KEYS]),
    onError: async (thrown) => {
      if (asFailure(thrown).code === "decision_closed") onAnsweredElsewhere(await getDecision(id));
      await invalidate(client, ATTENTION_KEYS);
    },
  });
  // The list has only the start of long arguments. Nothing can be approved before all of it was on the screen.
  const full = useQuery({ ...fullDecisionQuery(id), enabled: decision.is_input_cut });
  const isInputShown = !decision.is_input_cut || full.data?.is_input_cut === false;
  const elsewhere = answerElsewhereText(decision);
  const severity = severityText(decision.severity);
  const badges = (
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
  return (
    <AttentionCard icon="bell" agentId={decision.agent_id} badges={badges} headline={decision.title}>
      <DecisionInput
        decision={full.data ?? decision}
        isFetching={full.isFetching}
        error={full.error}
        onRetry={() => void full.refetch()}
      />
      <DecisionFacts decision={decision} />
      <label className="decision-note">
        <span>{labels.decision.note}</span>
        <input
          value={note}
          onChange={(event) => setNote(event.target.value)}
          maxLength={NOTE_CHARS_MAX}
          autoComplete="off"
        />
      </label>
      {answering.error && asFailure(answering.error).code !== "decision_closed" && (
        <ErrorNotice action={labels.decision.answerAction} error={answering.error} />
      )}
      {elsewhere && (
        <p role="note">
          <InlineText text={elsewhere} />
        </p>
      )}
      <DecisionOptions
        decision={decision}
        isDisabled={answering.isPending || answering.isSuccess || elsewhere !== undefined}
        isInputShown={isInputShown}
        onAnswer={answering.mutate}
      />
      {answering.isSuccess && (
        <p className="quiet" role="status">
          <Icon name="check" /> {labels.decision.answered}
        </p>
      )}
    </AttentionCard>
  );
}

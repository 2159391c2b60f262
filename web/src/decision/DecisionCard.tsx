import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { answerDecision, getDecision } from "../api/calls";
import { asFailure } from "../api/failure";
import { ACTIVITY_KEYS, invalidate, keys } from "../api/keys";
import { fullDecisionQuery } from "../api/queries";
import type { Decision } from "../api/types";
import { agentPath, Link, runPath } from "../shell/router";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";
import { DecisionInput } from "./DecisionInput";
import { answerElsewhereText, blastRadiusText, deadlineText, isApproval, severityText } from "./text";

/** The server's bound. */
const NOTE_CHARS_MAX = 2_000;

interface DecisionCardProps {
  decision: Decision;
  /** Takes the question as it stands when somebody else has closed it before us. */
  onAnsweredElsewhere: (decision: Decision) => void;
}

/** A question with everything that an answer depends on, and its answers as buttons. */
export function DecisionCard({ decision, onAnsweredElsewhere }: DecisionCardProps) {
  const { decision_id: id, agent_id: agentId, run_key: runKey, severity } = decision;
  const [note, setNote] = useState("");
  const titleId = useId();
  const client = useQueryClient();
  const refreshShown = () => invalidate(client, [keys.decisions(), ...ACTIVITY_KEYS]);
  const answering = useMutation({
    // The version says which question was read: if it has changed since, it is no answer to it.
    mutationFn: (option: string) =>
      answerDecision(id, { option, version: decision.version, ...(note.trim() === "" ? {} : { note: note.trim() }) }),
    onSuccess: refreshShown,
    onError: async (thrown) => {
      if (asFailure(thrown).code === "decision_closed") onAnsweredElsewhere(await getDecision(id));
      await client.invalidateQueries({ queryKey: keys.decisions() });
    },
  });
  // A list has only the beginning of long arguments. Nobody permits here what they were not shown.
  const full = useQuery({ ...fullDecisionQuery(id), enabled: decision.is_input_cut });
  const isShown = !decision.is_input_cut || full.data?.is_input_cut === false;
  const elsewhere = answerElsewhereText(decision);
  const { text, tone } = severityText(severity);
  return (
    <article className="decision" aria-labelledby={titleId}>
      <p className="attention-title">
        <Link to={agentPath(agentId)}>{agentId}</Link> asks <Badge tone={tone}>{text}</Badge>
        {decision.badges.includes("timed_out") && (
          <>
            {" "}
            <Badge tone="bad">Overdue</Badge>
          </>
        )}
      </p>
      <h3 id={titleId}>{decision.title}</h3>
      <DecisionInput
        decision={full.data ?? decision}
        isFetching={full.isFetching}
        error={full.error}
        onRetry={() => void full.refetch()}
      />
      <dl className="facts">
        <div>
          <dt>Reaches</dt>
          <dd>{blastRadiusText(decision.blast_radius)}</dd>
        </div>
        <div>
          <dt>Asked</dt>
          <dd>
            <Time at={decision.asked_at} />
          </dd>
        </div>
        {decision.deadline_at && (
          <div>
            <dt>Deadline</dt>
            <dd>
              <Time at={decision.deadline_at} isFuture />, {deadlineText(severity)}
            </dd>
          </div>
        )}
        <div>
          <dt>Run</dt>
          <dd>
            <Link to={runPath(agentId, runKey)}>See what led to it</Link>
          </dd>
        </div>
      </dl>
      <label className="decision-note">
        <span>Note, if you like</span>
        <input
          value={note}
          onChange={(event) => setNote(event.target.value)}
          maxLength={NOTE_CHARS_MAX}
          autoComplete="off"
        />
      </label>
      {answering.error && asFailure(answering.error).code !== "decision_closed" && (
        <ErrorNotice action="answer" error={answering.error} />
      )}
      {elsewhere && <p role="note">{elsewhere}</p>}
      <ul className="decision-options">
        {decision.options.map((option) => {
          const isRecommended = option.id === decision.recommended_option_id;
          return (
            <li key={option.id}>
              <button
                type="button"
                className={`button ${isRecommended ? "primary" : ""}`}
                aria-describedby={`${titleId}-${option.id}`}
                onClick={() => answering.mutate(option.id)}
                disabled={
                  answering.isPending ||
                  answering.isSuccess ||
                  elsewhere !== undefined ||
                  (isApproval(option.id) && !isShown)
                }
              >
                {option.label}
                {isRecommended && " (recommended)"}
              </button>
              <small id={`${titleId}-${option.id}`}>
                {option.description}
                {option.tradeoffs && ` ${option.tradeoffs}`}
              </small>
            </li>
          );
        })}
      </ul>
      {answering.isSuccess && (
        <p className="quiet" role="status">
          <Icon name="check" /> Answered. The run goes on.
        </p>
      )}
    </article>
  );
}

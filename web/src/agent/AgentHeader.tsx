import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { pauseAgent, resumeAgent } from "../api/calls";
import { brakesQuery } from "../api/queries";
import type { AgentStatus } from "../api/types";
import { BrakeButton } from "../brake/BrakeButton";
import { brakeOf } from "../brake/brake";
import { NotDurableNote } from "../brake/NotDurableNote";
import { briefingPath, Link } from "../shell/router";
import { counted } from "../text/number";
import { Glyph } from "../ui/Glyph";
import { Time } from "../ui/Time";
import { Trouble } from "../ui/Trouble";
import { doing, usedWords } from "./activity";
import { ModelFact } from "./ModelFact";

/** Who this is, what it does now, where it works, who answers for it and what it has used. */
export function AgentHeader({ agent, isParked }: { agent: AgentStatus; isParked: boolean }) {
  const client = useQueryClient();
  const brake = brakeOf(useQuery(brakesQuery).data, agent.agent_id);
  const isPaused = agent.control === "paused";
  const turning = useMutation({
    mutationFn: () => (isPaused ? resumeAgent(agent.agent_id) : pauseAgent(agent.agent_id)),
    onSuccess: () => client.invalidateQueries({ queryKey: ["agent", agent.agent_id] }),
  });
  const { words, glyph, tone } = doing(agent, isParked);
  return (
    <div className="page-head">
      <nav aria-label="Where you are" className="crumbs">
        <Link to={briefingPath}>Briefing</Link>
      </nav>
      <div className="agent-head">
        <span className={`orb large ${tone}`}>
          <Glyph name={glyph} />
        </span>
        <div className="agent-head-words">
          <h1 tabIndex={-1}>{agent.agent_id}</h1>
          <p className="lede" role="status">
            {agent.agent_id} {words}.
          </p>
        </div>
        <div className="agent-head-acts">
          <button type="button" className="button" onClick={() => turning.mutate()} disabled={turning.isPending}>
            <Glyph name={isPaused ? "play" : "pause"} /> {isPaused ? "Resume" : "Pause"}
          </button>
          <BrakeButton agentId={agent.agent_id} />
        </div>
      </div>
      <NotDurableNote of={brake?.not_durable} />
      {turning.error && <Trouble doing={isPaused ? "resume it" : "pause it"} thrown={turning.error} />}
      <dl className="facts">
        <div>
          <dt>Works in</dt>
          <dd>
            <code>{agent.workspace}</code>
          </dd>
        </div>
        <ModelFact agent={agent} />
        <div>
          <dt>Has used</dt>
          <dd
            title={`${counted(agent.token_usage.input_tokens, "token")} asked, ${counted(agent.token_usage.output_tokens, "token")} answered`}
          >
            {usedWords(agent)}
          </dd>
        </div>
        <div>
          <dt>Made</dt>
          <dd>
            <Time at={agent.created_at} />
          </dd>
        </div>
      </dl>
    </div>
  );
}

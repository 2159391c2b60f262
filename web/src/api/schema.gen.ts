// Written by `npm run types` from docs/openapi.json. Do not edit.

export interface paths {
    "/api/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All listed agents. */
        get: operations["list_agents"];
        put?: never;
        /** Makes an agent. */
        post: operations["create_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Activates an agent: whatever its mode allows may wake it. */
        post: operations["activate_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/destroy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends an agent for good. What is queued is cancelled, what it did stays to be read. */
        post: operations["destroy_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/dormant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes an agent dormant: only a person wakes it. What is queued already still runs. */
        post: operations["make_agent_dormant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/erasures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Erases contents of a run or of some events that have ended. The log stays whole and records the erasure. */
        post: operations["erase_content"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Events of one agent: a page of them, or with `Accept: text/event-stream` all from there on as they happen. */
        get: operations["list_agent_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/external-trigger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The external trigger of an agent. It is made when it is first asked for, and stays the same. */
        post: operations["get_external_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/external-trigger/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revokes the trigger: it accepts nothing until it gets another address. */
        post: operations["revoke_external_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/external-trigger/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives the trigger another address. The one before stops working. */
        post: operations["rotate_external_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Puts a message into an agent's queue. It is durable when this answers. */
        post: operations["send_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/mode": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sets who may wake an agent. */
        post: operations["set_agent_mode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/model": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Chooses an agent's model for the runs that begin from now on, or gives it the default back. */
        post: operations["set_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pauses an agent: messages are queued, nothing starts. */
        post: operations["pause_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/queue/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels every message that waits for an agent. An open run continues. */
        post: operations["clear_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resumes a paused or stopped agent. */
        post: operations["resume_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Runs of one agent, newest first. */
        get: operations["list_agent_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/sleep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets an agent sleep: until then only a person wakes it, and everything else waits. */
        post: operations["set_agent_sleep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/spending": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an agent's last days cost. */
        get: operations["get_agent_spending"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a page needs to draw an agent, before it follows the events. */
        get: operations["get_agent_state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One agent as it stands: small, the same size however long its history is. */
        get: operations["get_agent_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stops an agent: it takes no messages until it is resumed. */
        post: operations["stop_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/transcript": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest lines of an agent's conversation, oldest first. */
        get: operations["get_agent_transcript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/wake": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the sleep of an agent: what waited begins. It is recorded as a person's override. */
        post: operations["wake_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/why-not": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What kept an agent from being woken. */
        get: operations["get_why_not"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/brake": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The brakes that are on. */
        get: operations["list_brakes"];
        put?: never;
        /** Sets a brake on one agent or on all. Messages are queued, nothing starts, and what runs is stopped. A brake that is on stays as it was set. It is in force when this answers, also where the database does not take it: then `not_durable` says why, and it is stored as soon as that is possible. */
        post: operations["set_brake"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/brake/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Releases a brake. What it held goes on where it stopped. Nothing happens where there was none. It counts only when the database has it. */
        post: operations["release_brake"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/budget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was spent today, what may be, and what the last days cost. */
        get: operations["get_budget"];
        put?: never;
        /** Sets the cap of an agent or of all together, or removes it. Runs that wait for money are looked at again. */
        post: operations["set_cap"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Questions: those that wait in the order in which people should see them, or all of them, newest first. */
        get: operations["list_decisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/decisions/{decision_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One question, with all of its arguments and who was notified of it. */
        get: operations["get_decision"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/decisions/{decision_id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a question, once. With a version, only the question as it was read. */
        post: operations["answer_decision"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Events of all listed agents: a page of them, or with `Accept: text/event-stream` all as they happen. */
        get: operations["list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events/{event}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Raises an event: every active schedule that waits for it fires, each by itself. One that came before under the same key fires nothing again. */
        post: operations["raise_event"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/external-triggers/{external_trigger_id}/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Wakes the agent of a trigger. The body, of any kind, is given to the agent as untrusted data. `Idempotency-Key` or `X-Delivery-Id` names the delivery; one that comes again is the same. Without a name, equal bodies within a minute are one. `X-Correlation-Id` and `X-Causation-Id` say what it belongs together with and what it was caused by; they are kept and shown. */
        post: operations["deliver_external_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/categories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Categories by name. */
        get: operations["list_categories"];
        put?: never;
        /** Makes a category. */
        post: operations["create_category"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was committed after a number, oldest first: the outbox. */
        get: operations["list_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Notes, newest first. */
        get: operations["list_notes"];
        put?: never;
        /** Makes a note. */
        post: operations["create_note"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Records of a kind. */
        get: operations["list_records"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/records/{record_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One record of any kind; a deleted one too. */
        get: operations["get_record"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/sagas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Writes of agents to the journal that are not over, oldest first. */
        get: operations["list_sagas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/sagas/{operation_id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that the journal is right as it is, although a stuck saga could not be taken back. */
        post: operations["resolve_saga"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tasks, newest first. */
        get: operations["list_tasks"];
        put?: never;
        /** Makes a task. */
        post: operations["create_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One task. */
        get: operations["get_task"];
        put?: never;
        /** Changes a task. What is left out stays. */
        post: operations["update_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/journal/writes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Writes to the journal. Everything that one write touches is one transaction. */
        post: operations["write_journal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login-links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a link that logs a browser in, once, within a minute. Only with the API's token. */
        post: operations["create_login_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login-pages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Writes a login link into a file that only the daemon's user can read, for a browser to open. Only with the API's token. */
        post: operations["create_login_page"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The browsers that are logged in. */
        get: operations["list_logins"];
        put?: never;
        post?: never;
        /** Ends all logins. */
        delete: operations["revoke_all_logins"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/logins/{login_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Ends a login: its requests are refused, its streams end, and a restart does not bring it back. */
        delete: operations["revoke_login"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the login of this browser and deletes its cookie. */
        post: operations["log_out"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["get_open_api"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/privacy-receipts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every confirmation that a provider may be shown agents' work, oldest first. */
        get: operations["list_privacy_receipts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/privacy-receipts/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Confirms that a provider may be shown agents' work, under the rules that hold now. */
        post: operations["confirm_provider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Runs of all agents, newest first. */
        get: operations["list_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One run with everything that happened in it. A message whose turn has not come is a run that is `queued`. */
        get: operations["get_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/abandon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Abandons a quarantined run. What it finished stays; what it was writing to the journal is taken back. */
        post: operations["abandon_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels a run, or takes its message out of the queue. One that has ended stays as it is. */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resumes a quarantined run. */
        post: operations["resume_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why there is a run, or why there is none: also for keys of causes that never became one. */
        get: operations["get_why_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runtime/shutdown": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the daemon. Runs come to a safe point and go on when it is started again; no agent is stopped. */
        post: operations["shut_down"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runtime/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The daemon as it stands. */
        get: operations["get_runtime_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Schedules by name. */
        get: operations["list_schedules"];
        put?: never;
        /** Makes a schedule. Without `always` it wakes its agent only when something changed since the agent last ran. */
        post: operations["add_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One schedule. */
        get: operations["get_schedule"];
        put?: never;
        /** Changes a schedule. Another pattern or zone is another revision, and begins now. */
        post: operations["edit_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a schedule for good. Its history stays. */
        post: operations["disable_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A schedule and what became of its firings, newest first. */
        get: operations["list_scheduled_executions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pauses a schedule: nothing fires, and what would have been due meanwhile is not made up for. */
        post: operations["pause_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resumes a schedule. */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule_id}/trigger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets a schedule fire now, also when nothing changed. What is to come stays as it is. */
        post: operations["trigger_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All sources by name. */
        get: operations["list_sources"];
        put?: never;
        /** Watches a folder or a Git repository from now on. What is there already is read once and is no change, so this takes as long as reading it. The same one again is the same one. */
        post: operations["add_source"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sources/{source_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Watches a source no longer, and forgets what was seen of it. */
        delete: operations["remove_source"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sources/{source_id}/scan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Scans a source now. */
        post: operations["scan_source"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The state of the default agent. */
        get: operations["get_default_agent_state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The status of the default agent. */
        get: operations["get_default_agent_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stream-tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a ticket that opens one event stream of this browser, where no header can be sent. Programs need none. */
        post: operations["create_stream_ticket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Subscriptions by name. */
        get: operations["list_subscriptions"];
        put?: never;
        /** Makes a subscription: from now on, changes that it matches wake its agent. The same one again is the same one. */
        post: operations["create_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/subscriptions/{subscription_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Deletes a subscription. What it queued stays queued. */
        delete: operations["delete_subscription"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/subscriptions/{subscription_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pauses a subscription: until it is resumed, it wakes nothing. What would have matched is counted as refused, and is not made up for. What it queued stays queued. */
        post: operations["pause_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/subscriptions/{subscription_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resumes a subscription: it sees what is committed from now on. */
        post: operations["resume_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process lives. */
        get: operations["get_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The page, which takes the code of a link from the fragment of its address. */
        get: operations["get_login_page"];
        put?: never;
        /** Exchanges the code of a link for a login: a cookie, and the token that must go with it. */
        post: operations["enter_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Numbers for Prometheus. */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether it can be used. */
        get: operations["get_readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A message that is durable. */
        AcceptedMessage: {
            /** @description Whether it was new. */
            admission: components["schemas"]["Admission"];
            /** @description Whose queue it is in. */
            agent_id: string;
            /** @description The run that answers it, now or later. */
            run_key: string;
        };
        /** @description One permitted action was called off. */
        ActionCancelled: {
            /** @description The stable word of why. */
            code?: string;
            /**
             * @description Always 0: it never began.
             * @default 0
             */
            duration_ms: number;
            /** @description Which action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description How it counts. */
            status: components["schemas"]["StepStatus"];
            /** @description The tool. */
            tool: string;
        };
        /** @description What an agent does right now. */
        Activity: "asleep" | "queued" | "working" | "waiting_on_human" | "waiting" | "stuck";
        /** @description Who did something by hand. */
        Actor: "operator";
        /** @description A schedule to make. */
        AddSchedule: {
            /** @description Whom it wakes. */
            agent_id: string;
            /** @description Whether missed firings are made up for; as `schedule.catch_up` of the home says where nothing is given. */
            allows_catch_up?: boolean | null;
            /**
             * @description Whether it wakes the agent also when nothing changed.
             * @default false
             */
            always?: boolean;
            /**
             * @description Whether it is over after its first firing. One moment always is.
             * @default false
             */
            auto_disable_after_run?: boolean;
            /** @description How old a missed firing may be and still be made up for; a day where nothing is given. */
            catch_up_window_seconds?: number | null;
            /** @description What becomes of a firing while the one before it is under way; `forbid` when absent. */
            concurrency?: components["schemas"]["Concurrency"] | null;
            /** @description The event that lets it fire beside its time. */
            event?: string | null;
            /** @description What must hold for a firing to wake the agent: a predicate over `since_last_run_ms`, `queued`, `changed`, `source` and `is_catch_up`. A firing for which it does not hold is skipped, with a record. */
            guard?: components["schemas"]["ScheduleGuard"] | null;
            /**
             * @description Whether it begins at rest.
             * @default false
             */
            is_paused?: boolean;
            /** @description What people call it; its name where nothing is given. */
            label?: string | null;
            /** @description How many of them run at once; 1 where nothing is given. */
            max_catch_up_runs_per_tick?: number | null;
            /** @description What it says to the agent. */
            message: string;
            /** @description When it fires. */
            pattern: components["schemas"]["SchedulePattern"];
            /** @description Its name; one is made up where none is given. */
            schedule_id?: string | null;
        };
        /** @description A source to add. The same one again is the same one. */
        AddSource: {
            /** @description What it is. */
            kind: components["schemas"]["SourceKind"];
            /** @description Where it is: a whole path. */
            path: string;
            /** @description Its name; made up where none is given. */
            source_id?: string | null;
        };
        /** @description Whether a message was new. */
        Admission: "new" | "duplicate";
        /** @description How the door knows who came through it. */
        AdmissionContext: "local_process" | "control_authenticated" | "external_trigger_capability" | "runtime_owned";
        /** @description What one agent spent today, and may. */
        AgentBudget: {
            /** @description Which agent. */
            agent_id: string;
            /** @description What it may spend in a day; absent where only the cap of all holds. */
            daily_cap_usd?: string;
            /** @description Model requests today. */
            requests: number;
            /** @description What is put aside for its requests that are under way. */
            reserved_usd: string;
            /** @description What it spent today. */
            spent_usd: string;
        };
        /** @description Whether an agent works on what waits for it. A person's word, beside the lifecycle. */
        AgentControl: "running" | "paused" | "stopped";
        /** @description An agent, chosen by a person (or made up for a temporary agent). Checked once, on the way in. */
        AgentId: string;
        /** @description All listed agents. */
        AgentList: {
            /** @description By name. */
            agents: components["schemas"]["AgentStatus"][];
        };
        /** @description Which models an agent's next run asks, and who chose them. A run that is under way stays with its own. */
        AgentModelState: {
            /** @description Those that are asked when it fails for good, in this order. */
            effective_fallback_models: string[];
            /** @description The model that is asked first. */
            effective_model: string;
            /** @description The model or route that was chosen for this agent. */
            override_model?: string;
            /** @description The model or route of agents for whom nobody chose. */
            runtime_default_model: string;
            /** @description Who chose. */
            source: components["schemas"]["ModelSource"];
        };
        /** @description What an agent's last days cost. */
        AgentSpending: {
            /** @description Which agent. */
            agent_id: string;
            /** @description The days on which it spent something, oldest first; at most 31. */
            days: components["schemas"]["DaySpending"][];
        };
        /** @description What a page needs to draw an agent, before it follows the events. */
        AgentState: {
            /** @description Follow the events from here. */
            after_seq: number;
            /** @description The same as its status. */
            agent: components["schemas"]["AgentStatus"];
            /** @description Messages that wait, next first; at most 50. */
            queue: components["schemas"]["QueuedMessage"][];
            /** @description Its newest runs, newest first; at most 50. */
            runs: components["schemas"]["RunSummary"][];
        };
        /** @description Something about an agent changed. */
        AgentStateChanged: {
            /** @constant */
            change: "created";
            /** @description Whether it works on what waits for it. */
            control: components["schemas"]["AgentControl"];
            /**
             * @description Who may wake it.
             * @default hybrid
             */
            mode: components["schemas"]["InteractionMode"];
        } | {
            /** @constant */
            change: "control";
            /** @description How it stands now. */
            control: components["schemas"]["AgentControl"];
        } | {
            /** @constant */
            change: "lifecycle";
            /** @description Where it stands now. */
            lifecycle: components["schemas"]["Lifecycle"];
        } | {
            /** @constant */
            change: "mode";
            /** @description Who. */
            mode: components["schemas"]["InteractionMode"];
        } | {
            /** @constant */
            change: "sleep";
            /** @description Which moment. */
            until: string;
        } | {
            /** @constant */
            change: "wake";
            /** @description Who did. */
            override: components["schemas"]["Actor"];
        } | {
            /** @constant */
            change: "trigger";
            /** @description How. */
            trigger: components["schemas"]["TriggerChange"];
        } | {
            /** @description When the backup was made. */
            backup_made_at: string;
            /** @constant */
            change: "restored";
            /** @description The host and its life that goes on with it. */
            incarnation: components["schemas"]["Incarnation"];
        } | {
            /** @constant */
            change: "subscription";
            /** @description How. */
            state: components["schemas"]["SubscriptionChange"];
            /** @description Which one. */
            subscription: components["schemas"]["RuleId"];
        } | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | {
            /** @constant */
            change: "schedule_unreadable";
            /** @description What cannot be read. */
            column: string;
            /** @description Which one. */
            schedule_id: string;
        } | {
            /** @constant */
            change: "budget_day";
            /** @description How a person said so. */
            channel: components["schemas"]["Channel"];
            /** @description The day before. */
            from: components["schemas"]["UtcDay"] | null;
            /** @description The day now. */
            to: components["schemas"]["UtcDay"];
        } | {
            /** @constant */
            change: "model";
            /** @description Which one; none for the default. */
            model_ref: string | null;
        };
        /** @description An agent as it stands: small, the same size however long its history is. */
        AgentStatus: {
            /** @description What it does right now. */
            activity: components["schemas"]["Activity"];
            /** @description Its name. */
            agent_id: string;
            /** @description Whether it works on what waits for it. */
            control: components["schemas"]["AgentControl"];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description Whether a brake holds it, its own or that of all: it keeps what comes and begins nothing. */
            is_braked: boolean;
            /** @description The newest run. */
            last_run?: components["schemas"]["RunSummary"];
            /** @description The number of its newest event; 0 before the first. */
            last_seq: number;
            /** @description Where it stands in its life. */
            lifecycle: components["schemas"]["Lifecycle"];
            /** @description The files that guide it, never what they say. Told of one agent, not in lists. */
            loaded_agents_md?: components["schemas"]["LoadedAgentsMd"][];
            /** @description Who may wake it. */
            mode: components["schemas"]["InteractionMode"];
            /** @description The model that a person chose for it; absent where the default holds. */
            model?: string;
            /** @description Model rounds over all its runs. */
            model_rounds: number;
            /** @description Which models its next run asks, and who chose them. Told of one agent, not in lists. */
            model_state?: components["schemas"]["AgentModelState"];
            /** @description The run that is under way. */
            open_run?: string;
            /** @description Messages that wait for their turn. */
            pending: number;
            /** @description Questions of its runs that wait for an answer. */
            pending_decisions: number;
            /** @description Its runs that cannot go on until a person says so. */
            quarantined_runs: number;
            /**
             * Format: date-time
             * @description Until when only a person wakes it; absent while it is not asleep by order.
             */
            sleep_until?: string;
            /** @description Tokens over all its runs. */
            token_usage: components["schemas"]["TokenUsage"];
            /** @description Whether it is listed. */
            visibility: components["schemas"]["Visibility"];
            /** @description The folder its commands run in. */
            workspace: string;
        };
        /** @description An answer that was given. */
        Answer: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description By which way it came. */
            channel: components["schemas"]["Channel"];
            /** @description What the person said beside it. */
            note?: string;
            /** @description Which option. */
            option: string;
        };
        /** @description An answer to give. */
        AnswerDecision: {
            /** @description What you say beside it; the model reads it where the answer is no. */
            note?: string | null;
            /** @description The id of one of the question's options. */
            option: string;
            /** @description The version of the question that you read; without it, whichever stands. */
            version?: number | null;
        };
        /** @description What the model said. */
        AssistantRoundRecorded: {
            /** @description Which round. */
            round: number;
            /**
             * @description How its words begin.
             * @default
             */
            text: string;
            /**
             * @description The tools that it asked for.
             * @default []
             */
            tools: string[];
        };
        /** @description A picture or a document that comes with a message. */
        AttachmentInput: {
            /** @description Its bytes in base64 with padding; at most 5 MiB before that. */
            data: string;
            /** @description What it is, and its first bytes must say the same. */
            media_type: string;
            /** @description Its file name, without folders. */
            name: string;
        };
        /** @description One attempt. */
        Attempt: {
            /** @description Whether the next model of the route was asked because of it. */
            advanced_to_fallback: boolean;
            /** @description Which attempt with this model in its round, from 1. */
            attempt: number;
            /** @description How long was waited after it. */
            backoff_ms?: number;
            /**
             * Format: date-time
             * @description When it ended.
             */
            completed_at: string;
            /** @description What it cost, in dollars; absent where it cost nothing. */
            cost_usd?: string;
            /** @description What can be done about that. */
            disposition?: components["schemas"]["ModelFailureKind"];
            /** @description How long it took; waiting before it does not count. */
            duration_ms: number;
            /** @description What failed. */
            failure_kind?: string;
            /** @description How many it may have. */
            max_attempts: number;
            /** @description The model that was asked. */
            model_ref: string;
            /** @description The step it is recorded as. */
            operation_id: string;
            /** @description How it ended. */
            outcome: components["schemas"]["AttemptOutcome"];
            /** @description Who provides the model. */
            provider: string;
            /** @description The rule by which the model might be asked, or the code of the gate that stayed shut. */
            rule: string;
            /**
             * Format: date-time
             * @description When it began.
             */
            started_at: string;
            /** @description Tokens, as far as the provider counted them. */
            token_usage?: components["schemas"]["TokenUsage"];
            /** @description What happened on the way, where something went wrong. */
            transport_diagnostics?: unknown;
        };
        /** @description How an attempt ended, seen from its round. */
        AttemptOutcome: "retrying" | "retries_exhausted" | "fail_fast_aborted" | "succeeded";
        /** @description All attempts at the model rounds of a run. */
        AttemptTimeline: {
            /** @description The model that was asked last. */
            active_model_ref?: string;
            /** @description The tokens of all of them, where anybody counted. */
            aggregated_token_usage?: components["schemas"]["TokenUsage"];
            /** @description In the order in which they were made. */
            attempts: components["schemas"]["Attempt"][];
            /** @description The model that was asked for. */
            requested_model_ref: string;
            /** @description The model that answered last. */
            winning_model_ref?: string;
        };
        /** @description Whose word it is. Derived at admission, never accepted from outside. */
        Authority: "operator_instruction" | "runtime_instruction" | "integration_signal" | "external_evidence";
        /** @description Why a question stands out in a list. */
        Badge: "timed_out";
        /** @description How far the consequences reach. What nobody knows counts as the farthest. */
        BlastRadius: "trivial" | "small" | "medium" | "large" | "unknown";
        /** @description One piece of a line. */
        Block: {
            /** @description The words. */
            text: string;
            /** @constant */
            type: "text";
        } | {
            /** @description A summary in words; often empty. */
            text: string;
            /** @constant */
            type: "thinking";
        } | {
            /** @description How long it is in base64. */
            base64_bytes: number;
            /** @description What it is, such as `image/png`. */
            media_type: string;
            /** @description Its file name. */
            name: string;
            /** @constant */
            type: "attachment";
        } | {
            /** @description Pairs call and result. */
            call_id: string;
            /** @description The arguments as the model wrote them. */
            input: unknown;
            /** @description The tool's name as the model wrote it. */
            name: string;
            /** @constant */
            type: "tool_use";
        } | {
            /** @description The call it answers. */
            call_id: string;
            /** @description What the model reads: JSON as text. */
            content: string;
            /** @description True when the tool did not do what was asked. */
            is_error: boolean;
            /** @constant */
            type: "tool_result";
        };
        /** @description A brake that is on: nothing that it holds begins anything. */
        Brake: {
            /** @description Who is held; absent for all. */
            agent_id?: string;
            /**
             * Format: date-time
             * @description When it was set.
             */
            at: string;
            /** @description By which way it came. */
            channel: components["schemas"]["Channel"];
            /** @description Why it is not durable yet; absent where it is. */
            not_durable?: components["schemas"]["NotDurable"];
            /** @description Why, in the words of whoever set it; empty where they said nothing. */
            reason: string;
        };
        /** @description A brake was set or released. */
        BrakeChanged: {
            /** @description By which way it came. */
            channel: components["schemas"]["Channel"];
            /** @description Whether it is on. */
            is_on: boolean;
            /** @description Why it was set. */
            reason?: string;
            /** @description The agent, or [`ALL_AGENTS`]. */
            scope: string;
        };
        /** @description The brakes that are on. */
        BrakeList: {
            /** @description Every brake, that of all first. */
            brakes: components["schemas"]["Brake"][];
            /** @description Whether everything is held. */
            is_on: boolean;
        };
        /** @description What was spent today, what may be, and what the last days cost. Amounts are dollars as text, so that none is rounded. */
        Budget: {
            /** @description Every agent that has a cap of its own or spent something today, by name. */
            agents: components["schemas"]["AgentBudget"][];
            /** @description Where that cap comes from. */
            cap_origin: components["schemas"]["CapOrigin"];
            /** @description What all agents together may spend in a day. */
            daily_cap_usd: string;
            /**
             * Format: date
             * @description The day, by the calendar of UTC.
             */
            day: string;
            /** @description The last days on which something was spent, oldest first; at most 31. */
            days: components["schemas"]["DaySpending"][];
            /**
             * Format: date-time
             * @description When the next one begins.
             */
            next_day_at: string;
            /** @description What is put aside for requests that are under way. */
            reserved_usd: string;
            /** @description What they spent today. */
            spent_usd: string;
        };
        /** @description Why there is no money for a request. */
        BudgetExceeded: {
            /** @description The cap. */
            cap: components["schemas"]["MicroUsd"];
            /** @description The day. */
            day: components["schemas"]["UtcDay"];
            /** @description What the request could cost at most. */
            needed: components["schemas"]["MicroUsd"];
            /**
             * @description The part of it that is only put aside, and may come back soon.
             * @default 0
             */
            reserved: components["schemas"]["MicroUsd"];
            /** @description Whose cap it is. */
            scope: components["schemas"]["CapScope"];
            /** @description What the day has seen, settled and reserved. */
            spent: components["schemas"]["MicroUsd"];
        };
        /** @description Where a cap comes from. */
        CapOrigin: "set" | "default";
        /** @description Whose spending a cap limits. */
        CapScope: "agent" | "all";
        /** @description By which way an answer, or a hand on the brake, came. */
        Channel: "cli" | "api" | "page";
        /** @description What the HTTP client says of a failure. */
        ClientFlags: {
            /** @description The body broke off. */
            is_body: boolean;
            /** @description No connection came about. */
            is_connect: boolean;
            /** @description The body could not be read. */
            is_decode: boolean;
            /** @description There was a redirect. */
            is_redirect: boolean;
            /** @description The request could not be sent. */
            is_request: boolean;
            /** @description It took too long. */
            is_timeout: boolean;
        };
        /** @description What becomes of a firing while the one before it is still under way. */
        Concurrency: "allow" | "forbid" | "replace";
        /** @description A person had contents erased. */
        ContentErased: {
            /**
             * @description How many contents.
             * @default 0
             */
            blobs: number;
            /** @description Who did. */
            by: components["schemas"]["Actor"];
            /** @description How they said so. */
            channel: components["schemas"]["Channel"];
            /**
             * @description How many payloads of events.
             * @default 0
             */
            events: number;
            /**
             * @description Why, in their words.
             * @default
             */
            reason: string;
            /**
             * @description How many transitions of the run's log.
             * @default 0
             */
            transitions: number;
        } | {
            /** @description Which one. */
            run_key: components["schemas"]["RunKey"];
        } | {
            /** @description The first of them. */
            first_seq: number;
            /** @description The last of them. */
            last_seq: number;
        };
        /** @description An agent to make. */
        CreateAgent: {
            /** @description Its name. */
            agent_id: string;
            /** @description Who may wake it; `hybrid` when absent. */
            mode?: components["schemas"]["InteractionMode"] | null;
            /**
             * @description Whether it is listed.
             * @default public
             */
            visibility?: components["schemas"]["Visibility"];
            /** @description The folder its commands run in; the daemon's default when absent. */
            workspace?: string | null;
        };
        /** @description A category to make. */
        CreateCategory: {
            /** @description Names this write: the same key again is the same write. */
            key?: string | null;
            /** @description Its name for people. */
            name: string;
        };
        /** @description A note to make. */
        CreateNote: {
            /** @description Names this write: the same key again is the same write. */
            key?: string | null;
            /** @description The task it is about. */
            task_id?: string | null;
            /** @description What it says. */
            text: string;
        };
        /** @description A subscription to make. The same name with the same terms again is the same subscription. */
        CreateSubscription: {
            /** @description Who is woken. */
            agent_id: string;
            /**
             * @description Tokens that must all be there.
             * @default []
             */
            all?: string[];
            /**
             * @description Tokens of which one is enough.
             * @default []
             */
            any?: string[];
            /**
             * @description How long nothing begins after a wake by it.
             * @default 0
             */
            cooldown_ms?: number;
            /**
             * @description How long changes are gathered before the first of them wakes.
             * @default 0
             */
            debounce_ms?: number;
            /** @description What must hold of the agent and of the change. */
            guard?: components["schemas"]["Predicate"] | null;
            /**
             * @description What the agent is told to do.
             * @default
             */
            message?: string;
            /** @description What a changed record must be like. */
            predicate?: components["schemas"]["Predicate"] | null;
            /** @description Its name; made up where none is given. */
            subscription_id?: string | null;
        } | {
            any: unknown;
        } | {
            all: unknown;
        };
        /** @description A task to make. */
        CreateTask: {
            /** @description What it belongs to. */
            category_id?: string | null;
            /** @description More about it. */
            details?: string | null;
            /** @description Names this write: the same key again is the same write. */
            key?: string | null;
            /** @description One line. */
            title: string;
        };
        /** @description What a daemon does on the whole. */
        DaemonState: "idle" | "waiting" | "processing";
        /** @description What is kept under rules of its own. */
        DataClass: "events" | "traces" | "blobs";
        /** @description Old data was removed. */
        DataPruned: {
            /**
             * @description How much they held.
             * @default 0
             */
            bytes: number;
            /** @description What kind of data. */
            class: components["schemas"]["DataClass"];
            /** @description How many rows. */
            rows: number;
            /**
             * @description The newest moment among them.
             * @default
             */
            until: string;
        };
        /** @description What a block of a day is to be from now on. */
        DayPlanBlockWrite: {
            /** @description Which one; without it a new one is made. */
            block_id?: string | null;
            /** @description The part of a life that it is for. */
            category_id?: string | null;
            /**
             * Format: date-time
             * @description Until when.
             */
            ends_at: string;
            /** @description More about it. */
            note?: string | null;
            /**
             * Format: date-time
             * @description From when.
             */
            starts_at: string;
            /** @description What is to be done then. */
            task_id?: string | null;
        };
        /** @description What a day cost. */
        DaySpending: {
            /**
             * Format: date
             * @description The day, by the calendar of UTC.
             */
            day: string;
            /** @description Model requests. */
            requests: number;
            /** @description What is still put aside. */
            reserved_usd: string;
            /** @description What was spent. */
            spent_usd: string;
        };
        /** @description A question that a person answers; a run waits for it. */
        Decision: {
            /** @description Whose run asks. */
            agent_id: string;
            /** @description The answer, once there is one. */
            answer?: components["schemas"]["Answer"];
            /**
             * Format: date-time
             * @description When it was asked.
             */
            asked_at: string;
            /** @description Why it stands out. */
            badges: components["schemas"]["Badge"][];
            /** @description How far it reaches. */
            blast_radius: components["schemas"]["BlastRadius"];
            /**
             * Format: date-time
             * @description When it was closed, by whatever.
             */
            closed_at?: string;
            /**
             * Format: date-time
             * @description When it grows more severe, or is called off where it cannot; absent for never.
             */
            deadline_at?: string;
            /** @description Its name. */
            decision_id: string;
            /** @description Its arguments as JSON. Of one question all of them, at most 4 MiB; in lists as far as one line shows them. Characters that nobody would see are spelled out. */
            input: string;
            /** @description Why not even the question alone has all of them; absent where it has, and in lists. */
            input_gone?: components["schemas"]["InputGone"];
            /** @description Whether `input` is only how they begin. `GET /api/decisions/{decision_id}` has all of them. */
            is_input_cut: boolean;
            /** @description What is asked. */
            kind: components["schemas"]["DecisionKind"];
            /** @description By which ways an answer is taken. */
            may_answer: components["schemas"]["Channel"][];
            /** @description Who was told of it. Told of one question, not in lists. */
            notifications?: components["schemas"]["DecisionNotification"][];
            /** @description The action that waits. */
            operation_id: string;
            /** @description What may be answered. */
            options: components["schemas"]["DecisionOption"][];
            /** @description What would be safe to answer; absent where nothing speaks for either. */
            recommended_option_id?: string;
            /** @description The action that this one would do again. */
            retries?: string;
            /** @description The rule that made it a question. */
            rule: string;
            /** @description The run that waits. */
            run_key: string;
            /** @description How much depends on it. */
            severity: components["schemas"]["Severity"];
            /** @description Where it stands. */
            status: components["schemas"]["DecisionStatus"];
            /** @description The question in one line. */
            title: string;
            /** @description The tool that would be used. */
            tool: string;
            /** @description Grows with every change. Give it with an answer, and the answer is to what you read. */
            version: number;
        };
        /** @description A question was answered, or its time ran out. */
        DecisionAnswered: {
            /** @description By which way it came. */
            channel?: components["schemas"]["Channel"];
            /** @description Which question. */
            decision_id: components["schemas"]["DecisionId"];
            /**
             * @description What the person said beside it.
             * @default null
             */
            note?: string | null;
            /** @description The action that waits. */
            operation_id: components["schemas"]["OperationId"];
            /** @description Which option. */
            option?: string;
            /** @description How much depends on it, where nobody answered. */
            severity?: components["schemas"]["Severity"];
            /** @description How the question stands. */
            status: components["schemas"]["DecisionStatus"];
            /** @description The question in one line, where nobody answered. */
            title?: string;
            /** @description The tool that would be used. */
            tool: string;
            /** @description Grows with every change of the question. */
            version: number;
        };
        /** @description A person is asked. */
        DecisionAsked: {
            /** @description How far it reaches. */
            blast_radius: components["schemas"]["BlastRadius"];
            /** @description Which question. */
            decision_id: components["schemas"]["DecisionId"];
            /** @description How its arguments begin. */
            input: string;
            /** @description What is asked. */
            kind: components["schemas"]["DecisionKind"];
            /** @description The action that waits. */
            operation_id: components["schemas"]["OperationId"];
            /** @description What may be answered. */
            options: string[];
            /**
             * @description The action that this one would do again.
             * @default null
             */
            retries: components["schemas"]["OperationId"] | null;
            /** @description The rule that made it a question. */
            rule: string;
            /** @description How much depends on it. */
            severity: components["schemas"]["Severity"];
            /** @description In one line. */
            title: string;
            /** @description The tool that would be used. */
            tool: string;
        };
        /** @description A question was left too long. */
        DecisionEscalated: {
            /** @description Which question. */
            decision_id: components["schemas"]["DecisionId"];
            /** @description The action that waits. */
            operation_id: components["schemas"]["OperationId"];
            /** @description How much depends on it now. */
            severity: components["schemas"]["Severity"];
            /** @description How the question stands. */
            status: components["schemas"]["DecisionStatus"];
            /** @description The question in one line. */
            title: string;
            /** @description The tool that would be used. */
            tool: string;
            /** @description Grows with every change of the question. */
            version: number;
        };
        /** @description One question about one action. Derived, so that a question that is written again is the same question. */
        DecisionId: components["schemas"]["Digest"];
        /** @description What is asked. */
        DecisionKind: "tool_approval" | "outcome_unknown";
        /** @description Questions in the order in which people should see them. */
        DecisionList: {
            /** @description The questions; at most 500. */
            decisions: components["schemas"]["Decision"][];
            /** @description How many wait for an answer. */
            pending_count: number;
        };
        /** @description That somebody was told of a question, or could not be. */
        DecisionNotification: {
            /**
             * Format: date-time
             * @description When it was last tried.
             */
            at: string;
            /** @description How often it was tried. */
            attempts: number;
            /** @description Why it did not, the last time. */
            error?: string;
            /** @description Whether it came through. */
            is_delivered: boolean;
            /** @description How severe the question was then. */
            severity: components["schemas"]["Severity"];
            /** @description By which way: `desktop`, `webhook` or `command`. */
            target: string;
        };
        /** @description One answer that may be given. */
        DecisionOption: {
            /** @description What happens then. */
            description: string;
            /** @description The word to answer with. */
            id: string;
            /** @description What a button says. */
            label: string;
            /** @description What speaks against it. */
            tradeoffs?: string;
        };
        /** @description Where a question stands. */
        DecisionStatus: "pending" | "answered" | "cancelled" | "withdrawn";
        /** @description Who answers when a message names no model. */
        DefaultModel: {
            /** @description Whether it is the built-in demo script, which only pretends to think. */
            is_demo: boolean;
            /** @description Its name. */
            reference: string;
        };
        /** @description Why the queue holds a message back. */
        DelayKind: "asleep" | "not_before";
        /** @description What a delivery does. */
        DeliveryMode: "wake_hint";
        /** @description The door by which it came in. */
        DeliverySurface: "run_once" | "cli_prompt" | "http_control_prompt" | "http_callback_wake" | "timer_scheduler" | "runtime_system";
        /** @description A piece of text as the model produces it. Only on streams, never stored, without an id: what was said is in the event and the transcript that follow. A new attempt begins again. */
        Delta: {
            /** @description Who speaks. */
            agent_id: string;
            /** @description Which request of the run, from 0; a greater one replaces what came before. */
            attempt: number;
            /** @description Which piece of it, from 0. */
            chunk: number;
            /** @description In which run. */
            run_key: string;
            /** @description The words. */
            text: string;
        };
        Digest: string;
        /** @description What of a schedule is to be different. What is absent stays. */
        EditSchedule: {
            /** @description Whether missed firings are made up for. */
            allows_catch_up?: boolean | null;
            /** @description Whether it wakes the agent also when nothing changed. */
            always?: boolean | null;
            /**
             * @description Whether it waits for no event any more. Not together with `event`.
             * @default false
             */
            clear_event?: boolean;
            /**
             * @description Whether nothing must hold any more. Not together with `guard`.
             * @default false
             */
            clear_guard?: boolean;
            /** @description What becomes of a firing while the one before it is under way. */
            concurrency?: components["schemas"]["Concurrency"] | null;
            /** @description The event that lets it fire beside its time. */
            event?: string | null;
            /** @description What must hold for a firing to wake the agent. */
            guard?: components["schemas"]["ScheduleGuard"] | null;
            /** @description What people call it. */
            label?: string | null;
            /** @description What it says to the agent. */
            message?: string | null;
            /** @description When it fires. */
            pattern?: components["schemas"]["SchedulePattern"] | null;
        };
        /** @description Exchanges the code of a login link for a login. */
        EnterLogin: {
            /** @description The code of the link. */
            code: string;
        };
        /** @description What an entry of a source is, as the payload of a change unit. */
        EntryKind: "file" | "git_ref";
        /** @description Contents to erase, of a run or of some events, and why. They must have ended. */
        EraseContent: {
            /** @description The first event whose contents go. */
            first_seq?: number | null;
            /** @description The last event whose contents go; the first, where it is not given. */
            last_seq?: number | null;
            /** @description Why. It stays in the log. */
            reason: string;
            /** @description The run whose contents go: what was said in it, what it was told, what its events say. Or else `first_seq`. */
            run_key?: string | null;
        } & ({
            first_seq?: null;
            last_seq?: null;
            run_key: string;
        } | {
            first_seq: number;
            run_key?: null;
        });
        /** @description What was erased. */
        Erasure: {
            /** @description Contents that are gone. Those that others name as well stay. */
            blobs: number;
            /** @description Events that lost what they say. */
            events: number;
            /** @description The event that tells of it; absent when nothing was left to erase. */
            seq?: number;
            /** @description Transitions that lost what they were told. */
            transitions: number;
        };
        /** @description What every request that did not succeed is answered with. */
        ErrorBody: {
            /** @description What is wrong. */
            error: components["schemas"]["Problem"];
        };
        /** @description One event of one agent. */
        Event: {
            /** @description Whose event it is. */
            agent_id: string;
            /**
             * Format: date-time
             * @description When it happened.
             */
            at: string;
            /** @description Whether the details are gone for good. */
            erased?: boolean;
            /** @description Its name: the hash that chains it to everything before it. */
            event_id: string;
            /** @description The version of the rules that had a part in it. */
            policy_version?: string;
            /** @description How it is shown, the same on every surface. */
            presentation: components["schemas"]["Presentation"];
            /** @description Where it came from, as far as it is known. */
            provenance: components["schemas"]["Provenance"];
            /** @description The run it belongs to. */
            run_key?: string;
            /** @description Its number in the agent's log, counted from 1 without gaps. */
            seq: number;
        } & ({
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "message_admitted";
            payload: components["schemas"]["MessageAdmitted"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "agent_state_changed";
            payload: components["schemas"]["AgentStateChanged"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "wake_decided";
            payload: components["schemas"]["WakeDecided"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "run_started";
            payload: components["schemas"]["RunStarted"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "provider_round_completed";
            payload: components["schemas"]["ProviderRoundCompleted"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "assistant_round_recorded";
            payload: components["schemas"]["AssistantRoundRecorded"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "policy_decided";
            payload: components["schemas"]["PolicyDecided"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "tool_executed";
            payload: components["schemas"]["ToolExecuted"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "action_cancelled";
            payload: components["schemas"]["ActionCancelled"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "runtime_error";
            payload: components["schemas"]["RuntimeError"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "run_parked";
            payload: components["schemas"]["RunParked"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "sub_run_started";
            payload: components["schemas"]["SubRunStarted"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "run_ended";
            payload: components["schemas"]["RunEnded"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "decision_asked";
            payload: components["schemas"]["DecisionAsked"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "decision_answered";
            payload: components["schemas"]["DecisionAnswered"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "decision_escalated";
            payload: components["schemas"]["DecisionEscalated"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "brake_changed";
            payload: components["schemas"]["BrakeChanged"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "run_quarantined";
            payload: components["schemas"]["RunQuarantined"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "quarantine_resolved";
            payload: components["schemas"]["QuarantineResolved"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "content_erased";
            payload: components["schemas"]["ContentErased"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "data_pruned";
            payload: components["schemas"]["DataPruned"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "rows_bound";
            payload: components["schemas"]["RowsBound"];
        } | {
            /** @constant */
            erased?: false;
            kind: string;
            payload: {
                [key: string]: unknown;
            };
        } | {
            /** @constant */
            erased: true;
            kind: string;
            payload: Record<string, unknown>;
        });
        /** @description What an event is about. */
        EventCategory: "operator_notification" | "brief" | "message" | "work_item" | "task" | "waiting" | "workspace" | "runtime" | "assistant_progress" | "tool" | "state_sync" | "trace";
        /** @description Events of all listed agents, oldest first. */
        EventFeed: {
            /** @description Go on from here. What is inside may change; it is only good for giving it back. */
            cursor: string;
            /** @description The events. */
            events: components["schemas"]["Event"][];
            /** @description Whether there is more. */
            has_more: boolean;
        };
        /** @description What became of an event. */
        EventFirings: {
            /** @description What happened. */
            event: string;
            /** @description What became of each schedule that waits for it, by name. None where nobody waits. */
            executions: components["schemas"]["ScheduledExecution"][];
            /** @description The name of the delivery. */
            key: string;
        };
        /** @description How much an event matters to a person, most first. */
        EventLevel: "action_required" | "work_done" | "turn_result" | "progress" | "trace";
        /** @description Events of one agent, oldest first. */
        EventPage: {
            /** @description The events. */
            events: components["schemas"]["Event"][];
            /** @description Whether there is more. */
            has_more: boolean;
            /** @description Go on from here. */
            next_after_seq: number;
        };
        /** @description What was decided about a firing, or about the schedule itself. */
        ExecutionOutcome: "run" | "skipped" | "replaced" | "refused" | "disabled" | "expired" | "recomputed" | "unreadable";
        /** @description Why a firing became no run, or why a schedule ended. */
        ExecutionReason: components["schemas"]["ScheduleReason"] | components["schemas"]["WakeOutcome"];
        /** @description The one capability by which systems outside may wake an agent. Its address is a secret: whoever has it can wake the agent. */
        ExternalTrigger: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description What a delivery does. */
            delivery_mode: components["schemas"]["DeliveryMode"];
            /** @description Its name. */
            external_trigger_id: string;
            /**
             * Format: date-time
             * @description When the newest of them was.
             */
            last_triggered_at?: string;
            /** @description Whether it accepts deliveries. */
            status: components["schemas"]["ExternalTriggerStatus"];
            /** @description Who is woken. */
            target_agent_id: string;
            /** @description How many deliveries were taken in. */
            trigger_count: number;
            /** @description Where to POST to, under the daemon's address; absent while it is revoked. A secret. */
            trigger_path?: string;
        };
        /** @description Whether an external trigger accepts deliveries. */
        ExternalTriggerStatus: "active" | "revoked";
        /** @description What is kept of a failure: bounded, without raw logs or secrets. */
        FailureArtifact: {
            /** @description Where it failed. */
            category: components["schemas"]["FailureCategory"];
            /** @description A stable word for what failed, such as `script_exhausted`. */
            kind: string;
            /** @description Small facts beside it. */
            metadata?: {
                [key: string]: string;
            };
            /** @description The model as it was asked for. */
            model_ref?: string;
            /** @description The provider, when one was involved. */
            provider?: string;
            /** @description What it was caused by, outermost first. */
            source_chain?: string[];
            /** @description The HTTP status, when there was one. */
            status?: number;
            /** @description One sentence for a person. */
            summary: string;
        };
        /** @description The stage at which something failed. */
        FailureCategory: "transport" | "protocol" | "runtime" | "task" | "unknown";
        /** @description In which part of a daemon's life something failed. */
        FailurePhase: "startup" | "shutdown" | "runtime_turn";
        /** @description One check on the way to a wake, with its result, in the order in which they were made. */
        Gate: {
            /** @description What was found, where a yes or no says too little. */
            detail?: string;
            /** @description What was checked. */
            gate: string;
            /** @description Whether it let the message pass. */
            passed: boolean;
        };
        /** @description Which file guidance was read from. */
        GuidanceKind: "agents_md" | "claude_md";
        /** @description Whose guidance a file is. */
        GuidanceRoot: "agent" | "workspace";
        /** @description Whether the process lives. */
        Health: {
            /** @description Always `ok`: a dead process does not answer. */
            status: components["schemas"]["HealthStatus"];
        };
        /** @description What a process that answers says of itself. */
        HealthStatus: "ok";
        /** @description Something that holds an agent right now. */
        Hold: {
            /** @description Which kind, for programs. */
            code: components["schemas"]["HoldCode"];
            /** @description What would have to change. */
            hint?: string;
            /** @description What it is, in one sentence. */
            message: string;
            /**
             * Format: date-time
             * @description Until when by itself; absent where it stays until somebody acts.
             */
            until?: string;
        };
        /** @description What holds an agent, for programs. */
        HoldCode: components["schemas"]["WakeOutcome"] | components["schemas"]["DelayKind"] | components["schemas"]["WaitKind"];
        /** @description How a person confirmed a provider without saying so. */
        ImpliedChannel: "operator_run";
        /** @description A host and its life: changes when a device is restored or cloned, so that old and new never share a name. */
        Incarnation: string;
        /** @description Why the arguments of an action are not there in full. */
        InputGone: "erased" | "pruned" | "unreadable";
        /** @description Who may wake an agent. */
        InteractionMode: "autonomous" | "interactive" | "hybrid";
        /** @description A part of a life that tasks belong to. */
        JournalCategory: {
            /** @description Its name for programs: 32 hex digits. */
            category_id: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description Its name for people. */
            name: string;
        };
        /** @description Categories by name. */
        JournalCategoryList: {
            /** @description The categories. */
            categories: components["schemas"]["JournalCategory"][];
        };
        /** @description One record that a committed transaction wrote. Those of one transaction have the same `seq`. */
        JournalChange: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description `person`, or `agent:` and a name. */
            author: string;
            /** @description Which transaction of that host. */
            counter: number;
            /** @description The host that wrote it, with its incarnation. */
            host: string;
            /** @description What kind of record. */
            kind: components["schemas"]["JournalChangeKind"];
            /** @description The operation that it was known by. */
            operation_id: string;
            /** @description Which one. */
            record_id: string;
            /** @description Its place among everything that was committed. */
            seq: number;
            /** @description The keys of what it says to the outside. */
            tokens: string[];
        };
        /** @description What a change unit is about. */
        JournalChangeKind: components["schemas"]["RecordKind"] | components["schemas"]["EntryKind"];
        /** @description What was committed, oldest first, in whole transactions. */
        JournalChangeList: {
            /** @description The changes. */
            changes: components["schemas"]["JournalChange"][];
            /** @description The newest place there is. */
            last_seq: number;
        };
        /** @description A record of any kind: one flat object, and what a predicate sees. What it has besides these fields depends on its kind; what it has not is left out. */
        JournalRecord: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description Its name: 32 hex digits. */
            id: string;
            /** @description What kind it is. */
            kind: components["schemas"]["RecordKind"];
            /** @description Whether it was deleted; its tombstone can be restored. */
            removed: boolean;
            /** @description How many writes it has seen. */
            version: number;
        } & {
            [key: string]: unknown;
        };
        /** @description Records. */
        JournalRecordList: {
            /** @description The records. */
            records: components["schemas"]["JournalRecord"][];
        };
        /** @description What is to be written. */
        JournalWrite: {
            /** @description Which category. */
            category_id: string;
            /** @constant */
            kind: "rename_category";
            /** @description Its new name. */
            name: string;
        } | {
            /**
             * @description The items, in order.
             * @default []
             */
            items?: string[];
            /** @constant */
            kind: "create_checklist";
            /** @description The task that it belongs to. */
            task_id: string;
            /** @description One line. */
            title: string;
        } | {
            /** @description Where. */
            checklist_id: string;
            /** @description The items, in order. */
            items: string[];
            /** @constant */
            kind: "add_items";
        } | {
            /** @description Whether it is done. */
            checked?: boolean | null;
            /** @description Which item. */
            item_id: string;
            /** @constant */
            kind: "update_item";
            /** @description Its new line. */
            text?: string | null;
        } | {
            /** @description Where. */
            checklist_id: string;
            /** @description The ids of all items, each once. */
            items: string[];
            /** @constant */
            kind: "order_items";
        } | {
            /** @description What is done. */
            description?: string | null;
            /** @constant */
            kind: "start_time";
            /** @description Which task. */
            task_id: string;
        } | {
            /** @constant */
            kind: "stop_time";
            /** @description Which time entry. */
            time_entry_id: string;
        } | {
            /** @description What was done. */
            description?: string | null;
            /**
             * Format: date-time
             * @description Until when.
             */
            ended_at: string;
            /** @constant */
            kind: "add_time";
            /**
             * Format: date-time
             * @description Since when.
             */
            started_at: string;
            /** @description On which task. */
            task_id: string;
        } | {
            /** @description What was done. */
            description?: string | null;
            /**
             * Format: date-time
             * @description Until when.
             */
            ended_at?: string | null;
            /** @constant */
            kind: "update_time";
            /**
             * Format: date-time
             * @description Since when.
             */
            started_at?: string | null;
            /** @description Which time entry. */
            time_entry_id: string;
        } | {
            /**
             * Format: date
             * @description Which day.
             */
            date: string;
            /**
             * @description The ids of blocks that go.
             * @default []
             */
            deletes?: string[];
            /** @constant */
            kind: "write_day_plan";
            /** @description What the day is for; left out stays. */
            note?: string | null;
            /**
             * @description Blocks that are new or different.
             * @default []
             */
            upserts?: components["schemas"]["DayPlanBlockWrite"][];
        } | ({
            /**
             * Format: date
             * @description The day, unless it is a record.
             */
            date?: string | null;
            /** @constant */
            kind: "rate";
            /** @description More about it. */
            note?: string | null;
            /** @description The record, unless it is a day. */
            record_id?: string | null;
            /** @description The name of the scale. */
            scale: string;
            /** @description The upper end of the scale; 5 unless given. */
            scale_max?: number | null;
            /** @description From 1 to `most`. */
            value: number;
        } & ({
            date?: null;
            record_id: string;
        } | {
            date: string;
            record_id?: null;
        })) | {
            /** @description The record that says it. */
            from_id: string;
            /** @constant */
            kind: "create_link";
            /** @description `relates_to`, `blocks`, `follows`, `part_of`, `derived_from`, `duplicates`, or `namespace:name`. */
            link_kind: string;
            /** @description The record that it is said of. */
            to_id: string;
        } | {
            /** @constant */
            kind: "remove";
            /** @description The category that takes what is in this one; one that is used does not go without it. */
            move_to?: string | null;
            /** @description Which record. */
            record_id: string;
        } | {
            /** @constant */
            kind: "restore";
            /** @description Which record. */
            record_id: string;
        };
        /** @description A failure that outlives its moment. */
        LastFailure: {
            /** @description Where to look. */
            detail_hint: string;
            /**
             * Format: date-time
             * @description When.
             */
            occurred_at: string;
            /** @description In which part of its life. */
            phase: components["schemas"]["FailurePhase"];
            /** @description One sentence. */
            summary: string;
        };
        /** @description Where an agent stands in its life. The order is that of concurrent writes: the greater one is read. */
        Lifecycle: "created" | "active" | "dormant" | "destroyed";
        /** @description A file that guides an agent. */
        LoadedAgentsMd: {
            /** @description Which file it is. */
            kind: components["schemas"]["GuidanceKind"];
            /** @description Where it is. */
            path: string;
            /** @description Whose guidance it is. */
            root: components["schemas"]["GuidanceRoot"];
        };
        /** @description A browser that is logged in. */
        Login: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            /** @description Its id, not a secret. */
            id: string;
            /** @description Whether the request for this list came with this login. */
            is_current: boolean;
            /**
             * Format: date-time
             * @description When it last sent a request, to within an hour.
             */
            last_used_at: string;
            /** @description Which browser it is, as far as it said. */
            name: string;
        };
        /** @description A fresh login. The cookie comes in the response's header. */
        LoginGrant: {
            /** @description The page keeps it in its origin's storage and sends it as `X-Wakeful-Token` beside the cookie. It is not shown again. */
            token: string;
        };
        /** @description A link that logs a browser in, once. */
        LoginLink: {
            /**
             * Format: date-time
             * @description The link stops working at this time.
             */
            expires_at: string;
            /** @description Open it in a browser. The code is in the fragment, which browsers do not send to servers. */
            url: string;
        };
        /** @description The browsers that are logged in, newest first; at most 64. */
        LoginList: {
            logins: components["schemas"]["Login"][];
        };
        /** @description A file on the daemon's machine that leads a browser to a login link. */
        LoginPage: {
            /**
             * Format: date-time
             * @description The link in it stops working at this time.
             */
            expires_at: string;
            /** @description The file. Only the user that runs the daemon can read it; it is deleted when the link is used or expires. */
            path: string;
        };
        /** @description A message entered the queue. */
        MessageAdmitted: {
            /** @description Whose word it is. */
            authority: components["schemas"]["Authority"];
            /** @description What it was caused by. */
            causation_id?: components["schemas"]["TraceId"];
            /** @description How the sender was authenticated. */
            context: components["schemas"]["AdmissionContext"];
            /** @description The chain of causes that it belongs to. */
            correlation_id?: components["schemas"]["TraceId"];
            /** @description What kind of message it is. */
            kind: components["schemas"]["MessageKind"];
            /**
             * @description What it came from.
             * @default operator
             */
            origin: components["schemas"]["OriginKind"];
            /**
             * @description How soon it wants its turn.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description The run that the message asks for, and the message's own key. */
            run_key: components["schemas"]["RunKey"];
            /** @description The ids that its origin names, each under the name of what it is. */
            source_refs?: {
                [key: string]: string;
            };
            /** @description Where it came in. */
            surface: components["schemas"]["DeliverySurface"];
            /** @description How it begins. */
            text: string;
        };
        /** @description What kind of cause a message is. */
        MessageKind: "operator_prompt" | "notice" | "timer_tick" | "hint" | "internal_followup";
        /** @description An amount of money: a millionth of a dollar. */
        MicroUsd: number;
        /** @description Whether the same request may be sent again. */
        ModelFailureKind: "retryable" | "fail_fast";
        /** @description Who chose an agent's model. */
        ModelSource: "runtime_default" | "agent_override";
        /** @description When a schedule wakes the agent next, and what became of it the last time. */
        NextFiring: {
            /** @description What was decided the last time: a word such as `run`, `skipped` or `refused`, and its reason. */
            last_outcome?: string;
            /**
             * Format: date-time
             * @description Its next moment; absent where it has none.
             */
            next_at?: string;
            /** @description The schedule. */
            schedule_id: string;
            /** @description Whether it is at work. */
            status: components["schemas"]["ScheduleStatus"];
        };
        /** @description Why a brake or a cancellation that is in force is not in the database yet. */
        NotDurable: {
            /** @description What is in the way, such as `disk_full`, `database_unreachable` or `database_slow`. */
            code: string;
            /** @description Whether it is kept in the home and so survives a restart. */
            is_saved: boolean;
            /** @description One sentence about it. */
            message: string;
        };
        /** @description Something written down. */
        Note: {
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description Its name: 32 hex digits. */
            note_id: string;
            /** @description The task it is about. */
            task_id?: string;
            /** @description What it says. */
            text: string;
        };
        /** @description Notes, newest first. */
        NoteList: {
            /** @description The notes. */
            notes: components["schemas"]["Note"][];
        };
        /** @description One action of one run. Everything outside that can refuse a second use gets this id. */
        OperationId: components["schemas"]["Digest"];
        /** @description What kind of thing a message comes from. */
        OriginKind: "operator" | "subscription" | "schedule" | "trigger" | "run";
        /** @description Why a run waits for money. */
        ParkedReason: {
            /** @description The cap of a day. */
            cap_usd: string;
            /** @description `budget_exceeded`. */
            code: string;
            /**
             * Format: date
             * @description The day it was.
             */
            day: string;
            /** @description What the next request may cost at most. */
            needed_usd: string;
            /** @description Whose cap stands in the way. */
            scope: components["schemas"]["CapScope"];
            /** @description What the day had seen, spent and put aside, when the run was parked. */
            spent_usd: string;
        };
        /** @description A cancellation that is in force and not in the database yet. */
        PendingCancel: {
            /** @description Why it is not durable yet. */
            not_durable: components["schemas"]["NotDurable"];
            /** @description The run that ends. */
            run_key: string;
        };
        /** @description A verdict on one action. */
        PolicyDecided: {
            /** @description The stable word of why not. */
            code?: string;
            /** @description The verdict. */
            effect: components["schemas"]["PolicyEffect"];
            /** @description How its arguments begin. */
            input: string;
            /** @description Which action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The rule that it rests on. */
            rule: string;
            /** @description How the action ended, where it may not begin. */
            status?: components["schemas"]["StepStatus"];
            /** @description The tool. */
            tool: string;
        };
        /** @description Permit or deny. There is no third answer yet: asking a person comes with decisions. */
        PolicyEffect: "permit" | "ask" | "deny";
        Predicate: {
            field: string;
            /** @enum {unknown} */
            op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte";
            value?: unknown;
        } | {
            field: string;
            /** @constant */
            op: "in";
            value: unknown[];
        } | {
            field: string;
            /** @constant */
            op: "exists";
            value?: boolean | null;
        } | {
            all: components["schemas"]["Predicate"][];
        } | {
            any: components["schemas"]["Predicate"][];
        } | {
            not: components["schemas"]["Predicate"];
        };
        /** @description How an event is shown. What is shown is no question of permission: everyone who may read an event may read all of it. */
        Presentation: {
            /** @description More, where there is more. */
            body?: string;
            /** @description What it is about. */
            category: components["schemas"]["EventCategory"];
            /** @description The kind of the event it was made from. */
            source_event_kind: string;
            /** @description One line for lists. */
            summary: string;
            /** @description A few words. */
            title: string;
            /** @description How much it matters to a person. */
            visibility: components["schemas"]["EventLevel"];
        };
        /** @description How soon a message wants its turn. A hint on order, never on trust. */
        Priority: "interject" | "next" | "normal" | "background";
        /** @description A confirmation that a provider may be shown agents' work. */
        PrivacyReceipt: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description How it was given. */
            channel: components["schemas"]["ReceiptChannel"];
            /** @description Under which rules. Under others it has to be given anew. */
            policy_version: string;
            /** @description Which provider. */
            provider: string;
        };
        /** @description What is wrong, and what to do about it. */
        Problem: {
            /** @description A stable word for programs. */
            code: string;
            /** @description The way out. */
            hint: string;
            /** @description One sentence for a person. */
            message: string;
        };
        /** @description Where an event came from, as far as its payload says. */
        Provenance: {
            /** @description Whose word it was. */
            authority?: string;
            /** @description What caused a message, else the operation that caused the event. */
            causation_id?: string;
            /** @description How that door knew the sender. */
            context?: string;
            /** @description What belongs together: the chain of causes that a message is of, else the run. */
            correlation_id?: string;
            /** @description The message behind it, by its key. */
            message_id?: string;
            /** @description The door by which it came in. */
            surface?: string;
        };
        /** @description A model request ended. */
        ProviderRoundCompleted: {
            /**
             * @description Whether the next model of the route was asked because of it.
             * @default false
             */
            advanced_to_fallback: boolean;
            /** @description Which attempt with this model, from 1. */
            attempt: number;
            /** @description How long was waited after it. */
            backoff_ms?: number;
            /** @description What it cost; none where it cost nothing. */
            cost?: components["schemas"]["MicroUsd"];
            /** @description What can be done about that: `retryable` or `fail_fast`. */
            disposition?: components["schemas"]["ModelFailureKind"];
            /** @description How long it took, from the request to its reply or failure. Waiting before it does not count. */
            duration_ms: number;
            /** @description What failed. */
            failure_kind?: string;
            /** @description How many it may have. */
            max_attempts: number;
            /** @description The model that was asked. */
            model_ref: string;
            /** @description How it ended. */
            outcome: components["schemas"]["AttemptOutcome"];
            /** @description Who provides the model. */
            provider: string;
            /** @description Which round, from 0. */
            round: number;
            /** @description The rule by which the model might be asked. */
            rule?: string;
            /** @description Tokens, as far as the provider counted them. */
            token_usage?: components["schemas"]["Usage"];
            /** @description What happened on the way. */
            transport_diagnostics?: components["schemas"]["TransportDiagnostics"];
        };
        /** @description A quarantined run goes on, or was given up. */
        QuarantineResolved: {
            /** @description Which run. */
            run_key: components["schemas"]["RunKey"];
            /** @description How it stands now. */
            status: components["schemas"]["RunStatus"];
        };
        /** @description A message that waits for its turn. */
        QueuedMessage: {
            /**
             * Format: date-time
             * @description When it came.
             */
            admitted_at: string;
            /** @description How it begins. */
            preview: string;
            /**
             * @description How soon it wants its turn.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description The run that will answer it. */
            run_key: string;
            /** @description The number of the event that announced it: the order of the queue among equal priorities. */
            seq: number;
        };
        /** @description A message that waits. */
        QueuedWake: {
            /** @description What arose. */
            cause: components["schemas"]["WakeCause"];
            /**
             * Format: date-time
             * @description Until when it waits by itself; absent where it may begin at once.
             */
            not_before?: string;
            /**
             * Format: date-time
             * @description Since when it waits.
             */
            queued_at: string;
            /** @description The run that it will become. */
            run_key: string;
        };
        /** @description Word that something happened. */
        RaiseEvent: {
            /** @description Names this delivery: the same key again is the same one, and no schedule fires for it twice. The header `Idempotency-Key` does the same. */
            key?: string | null;
        };
        /** @description How far a daemon is. */
        Readiness: "recovering" | "ready" | "failing" | "stopping";
        /** @description Whether it can be used. */
        ReadinessStatus: {
            /** @description The stable word for what is wrong with its storage, while that is so. */
            code?: string;
            /** @description How far it is. */
            status: components["schemas"]["Readiness"];
        };
        /** @description How a person confirmed a provider. */
        ReceiptChannel: components["schemas"]["Channel"] | components["schemas"]["ImpliedChannel"];
        /** @description The kinds of records there are. There is none for anything that belongs to an agent. */
        RecordKind: "category" | "task" | "note" | "checklist" | "checklist_item" | "time_entry" | "day_plan" | "day_plan_block" | "rating" | "link";
        /** @description What is listed. */
        RecordListKind: "checklist" | "checklist_item" | "time_entry" | "day_plan" | "day_plan_block" | "rating" | "link" | "any";
        /** @description How often a source was refused for one reason on one day. */
        RefusalCount: {
            /** @description The code of the refusal. */
            code: components["schemas"]["WakeOutcome"];
            /** @description How often. */
            count: number;
            /**
             * Format: date
             * @description The day in UTC.
             */
            day: string;
            /** @description What would have to change. */
            hint?: string;
            /**
             * Format: date-time
             * @description The last time.
             */
            last_at: string;
            /** @description The refusal in one sentence. */
            message: string;
            /** @description By what. */
            source: string;
        };
        /** @description A brake to release. */
        ReleaseBrake: {
            /** @description Whose; that of all where it is absent. */
            agent_id?: string | null;
        };
        /** @description Who speaks in an entry of a transcript. */
        Role: "user" | "assistant" | "tool";
        /** @description What one event says of one row. */
        RowBinding: {
            /** @description The row's key as text. */
            key: string;
            /** @description The hash of the columns that govern; none when the row was removed. */
            row_hash: components["schemas"]["Digest"] | null;
            /** @description The table. */
            table: string;
        };
        /** @description Rows that govern were changed. */
        RowsBound: {
            /** @description What the event says of each row. */
            records: components["schemas"]["RowBinding"][];
        };
        /** @description A standing order that wakes an agent: a subscription, a schedule or a trigger. */
        RuleId: string;
        /** @description A run with everything that happened in it. */
        Run: {
            /** @description Whose run it is. */
            agent_id: string;
            /** @description Why it ran. */
            cause?: components["schemas"]["RunCause"];
            /** @description The runs of other agents that it started. */
            children?: components["schemas"]["RunLink"][];
            /** @description What it cost, in dollars; absent where it cost nothing. */
            cost_usd?: string;
            /** @description Operation ids of calls that the policy denied. */
            denied: string[];
            /** @description From its beginning to its end; 0 while it is open. */
            duration_ms: number;
            /**
             * Format: date-time
             * @description When it ended.
             */
            ended_at?: string;
            /** @description What went wrong, if it failed. */
            failure_artifact?: components["schemas"]["FailureArtifact"];
            /** @description Why it was moved aside, if it was. */
            fault?: string;
            /** @description The model's last words. */
            final_text: string;
            /** @description Who answers. */
            model?: string;
            /** @description `open`, `queued`, `quarantined`, or how it ended: `completed`, `failed`, `out_of_rounds`, `cancelled`, `abandoned`. */
            outcome: components["schemas"]["RunStatus"];
            /** @description The run that started it and waits for its end, if one did. */
            parent?: components["schemas"]["RunLink"];
            /** @description Why it waits for money, if it does. */
            parked?: components["schemas"]["ParkedReason"];
            /** @description Every attempt at its model rounds. */
            provider_attempt_timeline?: components["schemas"]["AttemptTimeline"];
            /** @description Model replies. */
            rounds: number;
            /** @description Its name. */
            run_key: string;
            /**
             * Format: date-time
             * @description When it began.
             */
            started_at: string;
            /** @description Every model round and tool call, in order. */
            steps: components["schemas"]["Step"][];
            /** @description Tokens. */
            token_usage: components["schemas"]["TokenUsage"];
            /** @description Every tool call, in order. */
            tool_calls: components["schemas"]["ToolCall"][];
            /** @description Operation ids of calls whose outcome nobody knows. */
            unknown: string[];
            /** @description Why its state could not be read, as a code; then only its rows are shown. */
            unreadable?: string;
            /** @description The folder its commands run in. */
            workspace?: string;
        };
        /** @description Why a run ran: the message, and every gate it passed. */
        RunCause: {
            /** @description The run that took it up, if another did. */
            absorbed_by?: string;
            /**
             * Format: date-time
             * @description When it came.
             */
            admitted_at: string;
            /** @description Whose word it was. */
            authority: components["schemas"]["Authority"];
            /** @description What it was caused by: a run, a change, or the name that a sender gave. */
            causation_id?: string;
            /** @description How that door knew the sender. */
            context: components["schemas"]["AdmissionContext"];
            /**
             * @description What it belongs together with: the key with which its chain of causes began, or the name that a sender gave.
             * @default
             */
            correlation_id: string;
            /** @description Every check, in order. */
            gates: components["schemas"]["Gate"][];
            /** @description What kind of message it was. */
            kind: components["schemas"]["MessageKind"];
            /**
             * @description How soon it wanted its turn.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description The door by which it came. */
            surface: components["schemas"]["DeliverySurface"];
            /** @description What was said; the whole text. */
            text: string;
            /** @description `run`, or the code of the refusal; none while it waits. */
            verdict?: components["schemas"]["WakeOutcome"];
        };
        /** @description A run ended. */
        RunEnded: {
            /** @description What it cost; none where it cost nothing. */
            cost_microusd?: components["schemas"]["MicroUsd"];
            /** @description How. */
            outcome: components["schemas"]["RunStatus"];
            /** @description Model replies. */
            rounds: number;
            /** @description Which run, so that it can be told without the run's log. */
            run_key?: components["schemas"]["RunKey"];
            /** @description Tokens. */
            token_usage: components["schemas"]["Usage"];
        };
        /** @description What holds the agent of a run that has not ended. */
        RunHold: "braked" | "paused";
        /** @description One wake of one agent. Derived, because two replicas that see the same cause must name the same run, or the work is done twice. */
        RunKey: components["schemas"]["Digest"];
        /** @description A run that another one started or was started by. */
        RunLink: {
            /** @description Whose run it is. */
            agent_id: components["schemas"]["AgentId"];
            /** @description What holds its agent, if something does. */
            held?: components["schemas"]["RunHold"];
            /** @description Its name. */
            run_key: components["schemas"]["RunKey"];
            /** @description How it stands: `queued`, `open`, `quarantined`, or how it ended. */
            status: components["schemas"]["RunStatus"];
        };
        /** @description Runs, newest first. */
        RunList: {
            /** @description Give it as `before` for older ones; absent at the end. */
            next_before?: string;
            /** @description The runs. */
            runs: components["schemas"]["RunSummary"][];
        };
        /** @description A run waits for money. */
        RunParked: {
            /** @description The stable word of why it waits. */
            code: string;
            /** @description Which cap is in its way. */
            exceeded: components["schemas"]["BudgetExceeded"];
        };
        /** @description A run cannot go on until a person says so. */
        RunQuarantined: {
            /** @description The stable word. */
            code: string;
            /** @description Which run. */
            run_key: components["schemas"]["RunKey"];
            /** @description In a sentence. */
            why: string;
        };
        /** @description A run began. */
        RunStarted: {
            /** @description Most rounds. */
            max_rounds: number;
            /** @description Who answers. */
            model_ref: string;
            /** @description Which run. */
            run_key: components["schemas"]["RunKey"];
        };
        /** @description Which runs to list. */
        RunState: "any" | "open" | "quarantined";
        /** @description How a run stands. */
        RunStatus: "queued" | "open" | "quarantined" | "completed" | "failed" | "out_of_rounds" | "cancelled" | "abandoned" | "absorbed" | "replaced" | "refused" | "gone";
        /** @description A run in a list. */
        RunSummary: {
            /** @description Whose run it is. */
            agent_id: string;
            /**
             * Format: date-time
             * @description When it ended.
             */
            ended_at?: string;
            /** @description Why it was moved aside, if it was. */
            fault?: string;
            /** @description Whether it is open and waits for money; the run itself says how much. */
            parked?: boolean;
            /** @description How the message begins that it answers. */
            preview?: string;
            /** @description Its name. */
            run_key: string;
            /**
             * Format: date-time
             * @description When it began.
             */
            started_at: string;
            /** @description `open`, `quarantined`, or how it ended. */
            status: components["schemas"]["RunStatus"];
            /** @description State changes so far. */
            transitions: number;
            /** @description The runs that it started and can do nothing without, while it waits for one of them. */
            waiting_on?: string[];
        };
        /** @description Something failed that a person should know of. */
        RuntimeError: {
            /** @description What is kept of the failure. */
            failure_artifact: components["schemas"]["FailureArtifact"];
        };
        /** @description The daemon as it stands. */
        RuntimeStatus: {
            /** @description Listed agents that are not paused. */
            active_agent_count: number;
            /** @description Background tasks under way. */
            active_task_count: number;
            /** @description The brakes that are on, that of all first. */
            brakes: components["schemas"]["Brake"][];
            /** @description A hash of the configuration it was started with. */
            config_fingerprint: string;
            /** @description `sqlite` or `postgres`. */
            database: string;
            /** @description The folder everything lives in. */
            home_dir: string;
            /** @description Where it listens. */
            http_addr: string;
            /** @description The newest failure, if there was one. */
            last_failure?: components["schemas"]["LastFailure"];
            /** @description Who answers when a message names no model. */
            model: components["schemas"]["DefaultModel"];
            /** @description Questions that wait for an answer, of all agents. */
            pending_decision_count: number;
            /** @description Its process. */
            pid: number;
            /** @description Agents with a run under way. */
            processing_agent_count: number;
            /** @description Runs that cannot go on until a person says so, of all agents. */
            quarantined_run_count: number;
            /** @description How far it is. */
            readiness: components["schemas"]["Readiness"];
            /**
             * Format: date-time
             * @description When it began.
             */
            started_at: string;
            /** @description What it does on the whole. */
            state: components["schemas"]["DaemonState"];
            /** @description Why its storage refused the last write, until one has worked again. */
            storage?: components["schemas"]["Problem"];
            /** @description Who listens to streams. */
            stream_count: number;
            /** @description Agents whose work cannot go on; at most 50. */
            stuck: components["schemas"]["StuckAgent"][];
            /** @description The program's version. */
            version: string;
            /** @description Agents for which something waits and nothing runs. */
            waiting_agent_count: number;
        };
        /** @description A write of an agent to the journal that is not over. */
        Saga: {
            /** @description Whose run it is; absent when the run is gone. */
            agent_id?: string;
            /** @description What went wrong last. */
            last_error?: string;
            /** @description The action that it carries out. */
            operation_id: string;
            /** @description How far it is. */
            phase: components["schemas"]["SagaPhase"];
            /** @description The run of that action. */
            run_key: string;
            /** @description Whether it is over. */
            status: components["schemas"]["SagaStatus"];
            /**
             * Format: date-time
             * @description When it last moved.
             */
            updated_at: string;
        };
        /** @description Sagas that are not over, oldest first. */
        SagaList: {
            /** @description The sagas. */
            sagas: components["schemas"]["Saga"][];
        };
        /** @description How far a saga is. */
        SagaPhase: "intent" | "journal" | "agent" | "compensation";
        /** @description Whether a saga is over. */
        SagaStatus: "open" | "completed" | "compensated" | "stuck";
        /** @description A schedule of an agent. */
        Schedule: {
            /** @description Whom it wakes. */
            agent_id: string;
            /** @description Whether missed firings are made up for. */
            allows_catch_up: boolean;
            /** @description Whether it wakes the agent also when nothing changed. */
            always: boolean;
            /** @description Whether it is over after its first firing. */
            auto_disable_after_run: boolean;
            /** @description How old a missed firing may be and still be made up for. */
            catch_up_window_seconds: number;
            /** @description What becomes of a firing while the one before it is under way. */
            concurrency: components["schemas"]["Concurrency"];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description The event that lets it fire beside its time. */
            event?: string;
            /** @description How many records of its firings were ever made. */
            execution_count: number;
            /** @description What must hold for a firing to wake the agent. */
            guard?: {
                [key: string]: unknown;
            };
            /** @description What people call it. */
            label: string;
            /**
             * Format: date-time
             * @description The moment that the newest firing was meant for.
             */
            last_execution_at?: string;
            /** @description The newest run that it asked for. */
            last_run_key?: string;
            /** @description How many of them run at once. */
            max_catch_up_runs_per_tick: number;
            /** @description What it says to the agent. */
            message: string;
            /**
             * Format: date-time
             * @description The moment that the next firing is meant for.
             */
            next_execution_at?: string;
            /** @description When it fires. */
            pattern: components["schemas"]["SchedulePattern"];
            /** @description Which pattern it has: another one is another revision, and its firings are others. */
            revision: number;
            /** @description Its name. */
            schedule_id: string;
            /** @description Whether it is at work. */
            status: components["schemas"]["ScheduleStatus"];
            /** @description That moment and the two after it. */
            upcoming: string[];
        };
        /** @description A schedule after a change. */
        ScheduleChange: {
            /** @description Its revision. */
            revision: number;
            /** @description Which one. */
            schedule_id: components["schemas"]["RuleId"];
            /** @description How it stands. */
            status: components["schemas"]["ScheduleStatus"];
        };
        ScheduleGuard: {
            /** @enum {unknown} */
            field: "since_last_run_ms" | "queued" | "changed" | "source" | "is_catch_up";
            /** @enum {unknown} */
            op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte";
            value?: unknown;
        } | {
            /** @enum {unknown} */
            field: "since_last_run_ms" | "queued" | "changed" | "source" | "is_catch_up";
            /** @constant */
            op: "in";
            value: unknown[];
        } | {
            /** @enum {unknown} */
            field: "since_last_run_ms" | "queued" | "changed" | "source" | "is_catch_up";
            /** @constant */
            op: "exists";
            value?: boolean | null;
        } | {
            all: components["schemas"]["ScheduleGuard"][];
        } | {
            any: components["schemas"]["ScheduleGuard"][];
        } | {
            not: components["schemas"]["ScheduleGuard"];
        };
        /** @description A schedule and what became of its firings, newest first. The oldest records are not kept for ever. */
        ScheduleHistory: {
            /** @description The records. */
            executions: components["schemas"]["ScheduledExecution"][];
            /** @description The schedule. */
            schedule: components["schemas"]["Schedule"];
        };
        /** @description Schedules by name. */
        ScheduleList: {
            /** @description The schedules. */
            schedules: components["schemas"]["Schedule"][];
            /** @description Those of which something cannot be read; they rest. */
            unreadable?: components["schemas"]["UnreadableSchedule"][];
        };
        /** @description When a schedule fires: a pattern in a zone, an interval from an anchor, or one moment. */
        SchedulePattern: {
            /**
             * Format: date-time
             * @description A moment at which it fires; now where none is given. It belongs to `interval_seconds`.
             */
            anchor?: string | null;
            /**
             * Format: date-time
             * @description The one moment at which it fires.
             */
            at?: string | null;
            /** @description A cron pattern of five fields. */
            cron?: string | null;
            /** @description How far apart firings are. */
            interval_seconds?: number | null;
            /** @description The zone whose clocks the pattern means, by its IANA name. It belongs to `cron`. */
            time_zone?: string | null;
        } & ({
            anchor?: null;
            at?: null;
            cron: string;
            interval_seconds?: null;
            time_zone: string;
        } | {
            at?: null;
            cron?: null;
            interval_seconds: number;
            time_zone?: null;
        } | {
            anchor?: null;
            at: string;
            cron?: null;
            interval_seconds?: null;
            time_zone?: null;
        });
        /** @description Why a schedule itself did not fire, or ended. */
        ScheduleReason: "missed" | "concurrency_forbid" | "concurrency_replace" | "already_run" | "agent_destroyed" | "unreadable" | "pattern_unreadable" | "exhausted" | "once";
        /** @description Whether a schedule is at work. */
        ScheduleStatus: "active" | "paused" | "disabled" | "expired";
        /** @description A record of a firing. */
        ScheduledExecution: {
            /**
             * Format: date-time
             * @description When it was decided.
             */
            at: string;
            /**
             * Format: date-time
             * @description The moment that was meant; of several, the first.
             */
            due_at: string;
            /** @description How many firings it speaks of. */
            firing_count: number;
            /** @description Whether there were even more. */
            is_capped: boolean;
            /** @description Whether it was missed and is made up for. */
            is_catch_up: boolean;
            /** @description What was decided. */
            outcome: components["schemas"]["ExecutionOutcome"];
            /** @description Why, where it did not run. */
            reason?: components["schemas"]["ExecutionReason"];
            /** @description Which revision of the schedule. */
            revision: number;
            /**
             * Format: date-time
             * @description When the run ended.
             */
            run_ended_at?: string;
            /** @description The run that it asked for. */
            run_key?: string;
            /**
             * Format: date-time
             * @description When the run began.
             */
            run_started_at?: string;
            /** @description Where that run stands; absent before it has begun. */
            run_status?: components["schemas"]["RunStatus"];
            /** @description Which schedule. */
            schedule_id: string;
            /** @description Its place among all records of the schedule, from 1. */
            seq: number;
            /** @description What made it fire. */
            trigger_source: components["schemas"]["TriggerSource"];
        };
        /** @description A message for an agent. */
        SendMessage: {
            /** @description Tools that this run may use only after a person said so. */
            ask_tools?: string[];
            /** @description Pictures and documents, at most 20 MiB together; the model is shown them before the text. */
            attachments?: components["schemas"]["AttachmentInput"][];
            /** @description Tools that this run may not use. */
            deny_tools?: string[];
            /** @description Names this message: the same key with the same message again is the same message, with another it is an error. The header `Idempotency-Key` does the same. */
            key?: string | null;
            /** @description Most model rounds before the run is ended. */
            max_rounds?: number | null;
            /** @description Who answers; the daemon's model when absent. */
            model?: string | null;
            /** @description How soon it wants its turn; `normal` when absent. It says nothing about trust. */
            priority?: components["schemas"]["Priority"] | null;
            /** @description What the agent is to do. At most 256 KiB. */
            text: string;
            /** @description The folder this run's commands run in; the agent's when absent. */
            workspace?: string | null;
        };
        /** @description Who may wake an agent from now on. */
        SetAgentMode: {
            /** @description The mode. */
            mode: components["schemas"]["InteractionMode"];
        };
        /** @description How long an agent sleeps. */
        SetAgentSleep: {
            /**
             * Format: date-time
             * @description Until when only a person wakes it.
             */
            until: string;
        };
        /** @description A brake to set. */
        SetBrake: {
            /** @description Who is to be held; all where it is absent. */
            agent_id?: string | null;
            /** @description Why. */
            reason?: string | null;
        };
        /** @description A cap to set. */
        SetCap: {
            /** @description Whose cap; of all agents together when absent. */
            agent_id?: string | null;
            /** @description Dollars a day, at most 1000000 with six decimals. */
            daily_usd?: string | null;
            /** @description Takes the cap away instead: the default holds again. */
            unset?: boolean;
        } & ({
            daily_usd: string;
            /** @constant */
            unset?: false;
        } | {
            daily_usd?: null;
            /** @constant */
            unset: true;
        });
        /** @description A model to choose for an agent. */
        SetModel: {
            /** @description Takes the choice back instead: the default holds again. */
            clear?: boolean;
            /** @description Which one. Holds for runs that begin from now on. */
            model?: string | null;
        } & ({
            /** @constant */
            clear?: false;
            model: string;
        } | {
            /** @constant */
            clear: true;
            model?: null;
        });
        /** @description How much depends on the answer, least first. */
        Severity: "warning" | "low" | "medium" | "high" | "critical";
        /** @description Something outside that is watched: what changes there wakes whoever subscribes to it. */
        Source: {
            /**
             * Format: date-time
             * @description When it was added. What was there already is no change.
             */
            created_at: string;
            /** @description How many files or refs it had when it was last looked at. */
            entries: number;
            /** @description What it is. */
            kind: components["schemas"]["SourceKind"];
            /** @description Why it could not be looked at, or not be heard, the last time. */
            last_error?: string;
            /** @description Where it is. */
            path: string;
            /** @description Its name. */
            source_id: string;
        };
        /** @description The kinds of sources there are. */
        SourceKind: "folder" | "git";
        /** @description All sources by name: there are few. */
        SourceList: {
            /** @description The sources. */
            sources: components["schemas"]["Source"][];
        };
        /** @description What a look at a source came to. */
        SourceScan: {
            /** @description How many changes it told. */
            changes: number;
            /** @description Which source. */
            source_id: string;
            /** @description How many files or refs could not be read; they are taken to be as they were. */
            unreadable: number;
        };
        /** @description Any step of a run. */
        Step: {
            /**
             * Format: date-time
             * @description When it was put down.
             */
            at: string;
            /** @description How long it took. */
            duration_ms?: number;
            /** @description What kind of step it is. */
            kind: components["schemas"]["StepKind"];
            /** @description The tool, or the model. */
            name: string;
            /** @description Its operation. */
            operation_id: string;
            /** @description The rule that permitted or denied it, or what was wrong. */
            reason: string;
            /** @description The enforced isolation. */
            sandbox?: string;
            /** @description How it stands. */
            status: components["schemas"]["StepStatus"];
            /** @description Tokens, for a model round. */
            token_usage: components["schemas"]["TokenUsage"];
        };
        /** @description What kind of step it is. */
        StepKind: "model" | "tool";
        /** @description Where a step stands. */
        StepStatus: "planned" | "intended" | "ok" | "failed" | "denied" | "outcome_unknown";
        /** @description A ticket that opens one event stream. */
        StreamTicket: {
            /**
             * Format: date-time
             * @description The ticket stops working at this time.
             */
            expires_at: string;
            /** @description Send it as the parameter `ticket` of the stream, with the cookie of the same login. It works once, within 30 seconds. */
            ticket: string;
        };
        /** @description An agent whose work cannot go on. */
        StuckAgent: {
            /** @description Which agent. */
            agent_id: string;
            /** @description A stable word for programs. */
            code: string;
            /** @description The way out. */
            hint: string;
            /** @description One sentence for a person. */
            message: string;
        };
        /** @description A run started one of another agent. */
        SubRunStarted: {
            /** @description Whose run it is. */
            child_agent_id: components["schemas"]["AgentId"];
            /** @description The run. */
            child_run_key: components["schemas"]["RunKey"];
            /** @description How many runs stand above it. */
            depth: number;
            /** @description The action that started it. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The tool. */
            tool: string;
        };
        /** @description A subscription: a change that it matches wakes its agent. */
        Subscription: {
            /** @description Who is woken. */
            agent_id: string;
            /** @description Tokens that must all be there. */
            all: string[];
            /** @description Tokens of which one is enough: a kind such as `TASK`, a value such as `task.status=done`, or `id:` and a record. */
            any: string[];
            /** @description How long nothing begins after a wake by it; what comes meanwhile is gathered. */
            cooldown_ms: number;
            /**
             * Format: date-time
             * @description When it was made. It does not see what was before.
             */
            created_at: string;
            /** @description How long changes are gathered before the first of them wakes. */
            debounce_ms: number;
            /** @description What must hold of the agent and of the change: a predicate over `since_last_run_ms`, `queued`, `author` and `depth`. */
            guard?: {
                [key: string]: unknown;
            };
            /** @description Whether it wakes its agent, or is put aside. */
            is_active: boolean;
            /** @description What the agent is told to do; may be empty. */
            message: string;
            /** @description What a changed record must be like. */
            predicate?: {
                [key: string]: unknown;
            };
            /** @description Its name. */
            subscription_id: string;
        };
        /** @description What became of a subscription. */
        SubscriptionChange: "made" | "paused" | "resumed" | "gone";
        /** @description Subscriptions by name. */
        SubscriptionList: {
            /** @description Where the next page begins, if there is one. */
            next_after?: string;
            /** @description The subscriptions. */
            subscriptions: components["schemas"]["Subscription"][];
        };
        /** @description Something to do. */
        Task: {
            /** @description What it belongs to. */
            category_id?: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description More about it; may be empty. */
            details: string;
            /** @description Where it stands. */
            status: components["schemas"]["TaskStatus"];
            /** @description Its name: 32 hex digits. */
            task_id: string;
            /** @description One line. */
            title: string;
            /**
             * Format: date-time
             * @description When it was last written.
             */
            updated_at: string;
            /** @description How many writes it has seen. */
            version: number;
        };
        /** @description Tasks, newest first. */
        TaskList: {
            /** @description The tasks. */
            tasks: components["schemas"]["Task"][];
        };
        /** @description Where a task stands. Any state may follow any other: people change their minds. */
        TaskStatus: "open" | "in_progress" | "done" | "dropped";
        /** @description Tokens as the providers counted them. */
        TokenUsage: {
            /** @description Those of requests that came from the provider's cache. */
            cached_read_tokens?: number;
            /** @description Those of requests that were written to the provider's cache. */
            cached_write_tokens?: number;
            /** @description Tokens of requests. */
            input_tokens: number;
            /** @description Tokens of replies. */
            output_tokens: number;
            /** @description Those of replies that were thoughts. */
            reasoning_tokens?: number;
            /** @description The sum of both. */
            total_tokens: number;
        };
        /** @description One tool call of a run. */
        ToolCall: {
            /** @description The tool. */
            name: string;
            /** @description Its operation. */
            operation_id: string;
            /** @description The enforced isolation. */
            sandbox?: string;
            /** @description How it stands. */
            status: components["schemas"]["StepStatus"];
        };
        /** @description One action ended. */
        ToolExecuted: {
            /** @description How long until the next attempt. */
            again_in_ms?: number;
            /** @description Which attempt it was, where another follows. */
            attempt?: number;
            /** @description The stable word of what went wrong. */
            code?: string;
            /** @description How long it took. */
            duration_ms: number;
            /** @description Which action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The isolation that was enforced. */
            sandbox?: string;
            /** @description How it ended. */
            status: components["schemas"]["StepStatus"];
            /** @description The tool. */
            tool: string;
        };
        /** @description What belongs together, or what something was caused by: a key of ours, or the name that a sender gave. */
        TraceId: string;
        /** @description The newest lines of a conversation, oldest first. */
        Transcript: {
            /** @description Whose conversation. */
            agent_id: string;
            /** @description Whether there are older ones: ask for more lines. */
            has_more: boolean;
            /** @description The lines. */
            lines: components["schemas"]["TranscriptLine"][];
        };
        /** @description One line. */
        TranscriptLine: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description What is said. */
            blocks: components["schemas"]["Block"][];
            /** @description Whether what was said is gone for good. */
            erased?: boolean;
            /** @description Who speaks. */
            role: components["schemas"]["Role"];
            /** @description The run it came from. */
            run_key: string;
        };
        /** @description What happened on the way to a provider and back. */
        TransportDiagnostics: {
            /** @description What the HTTP client says of it. */
            reqwest?: components["schemas"]["ClientFlags"];
            /** @description What it was caused by, outermost first. */
            source_chain?: string[];
            /** @description How far it came: `connect`, `first_byte`, `body`, `decode`, or `gate` where nothing was sent. */
            stage: string;
            /** @description The HTTP status. */
            status?: number;
            /** @description Where it was sent, without anything after the path. */
            url?: string;
        };
        /** @description What became of an external trigger. */
        TriggerChange: "made" | "rotated" | "revoked";
        /** @description What became of a delivery. */
        TriggerDeliveryResult: {
            /** @description Whether it was new; one that comes again is the same. */
            is_new: boolean;
            /** @description The run that it may become. */
            run_key: string;
        };
        /** @description A wish that a schedule fires now. */
        TriggerSchedule: {
            /** @description Names this wish: the same key again is the same wish. */
            key?: string | null;
        };
        /** @description What made a schedule fire. */
        TriggerSource: "tick" | "trigger_now" | "event";
        /** @description A schedule of which something cannot be read. */
        UnreadableSchedule: {
            /** @description Whom it wakes, as it is kept. */
            agent_id: string;
            /** @description What cannot be read. */
            column: string;
            /** @description Its name, as it is kept. */
            schedule_id: string;
        };
        /** @description What changes in a task. What is left out stays. */
        UpdateTask: {
            /** @description What it belongs to. */
            category_id?: string | null;
            /** @description More about it. */
            details?: string | null;
            /** @description Names this write: the same key again is the same write. */
            key?: string | null;
            /** @description Where it stands. */
            status?: components["schemas"]["TaskStatus"] | null;
            /** @description One line. */
            title?: string | null;
        };
        /** @description Tokens as the provider counted them. Zero where it did not say. */
        Usage: {
            /** @description Those of the request that came from the provider's cache. */
            cached_read_tokens?: number;
            /** @description Those of the request that were written to the provider's cache. */
            cached_write_tokens?: number;
            /** @description Tokens of the request, wherever the provider read them from. */
            input_tokens: number;
            /** @description Tokens of the reply, thoughts included. */
            output_tokens: number;
            /** @description Those of the reply that were thoughts. */
            reasoning_tokens?: number;
        };
        /**
         * Format: int64
         * @description A day by the calendar of UTC, counted from 1970.
         */
        UtcDay: number;
        /** @description Whether an agent is listed. */
        Visibility: "public" | "private";
        /** @description What an open run waits for, in one word. */
        WaitKind: "due" | "decision" | "children" | "budget" | "turn";
        /** @description What was decided about a cause. */
        Wake: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description What arose. */
            cause: components["schemas"]["WakeCause"];
            /** @description Every gate that was looked at, up to the first that stayed shut. */
            gates: components["schemas"]["Gate"][];
            /** @description What would have to change. */
            hint?: string;
            /** @description The verdict in one sentence. */
            message: string;
            /** @description The run that was asked for. */
            run_key: string;
            /** @description `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal. */
            verdict: components["schemas"]["WakeOutcome"];
        };
        /** @description What arose, as it was kept with its message. */
        WakeCause: {
            /** @description Who made the change: `person`, or `agent:` and its name. */
            author?: string;
            /** @description What it was caused by: a run, a change, or the name that a sender gave. */
            causation_id?: string;
            /** @description The change, by its logical key. */
            change?: string;
            /**
             * @description What it belongs together with: the key with which its chain of causes began, or the name that a sender gave.
             * @default
             */
            correlation_id: string;
            /** @description How many causes made by agents precede it. */
            depth: number;
            /** @description What arose, in one sentence. */
            description: string;
            /** @description `operator`, `subscription`, `schedule`, `trigger` or `run`. */
            kind: components["schemas"]["OriginKind"];
            /**
             * @description How soon it wants its turn.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description The run that asked for it. */
            run_key?: string;
            /**
             * Format: date-time
             * @description The moment that was meant.
             */
            scheduled_at?: string;
            /** @description What refusals are counted by: the kind, and the name of the subscription, schedule, trigger or run. */
            source: string;
            /** @description What it names by id: subscription, change, schedule, moment, trigger, delivery or run. */
            source_refs?: {
                [key: string]: string;
            };
            /** @description The tokens of the change, at most 64. */
            tokens?: string[];
        };
        /** @description A message became a run, or did not. */
        WakeDecided: {
            /** @description How many more messages the run took up. */
            absorbed?: number;
            /** @description The run that took it up. */
            absorbed_by?: components["schemas"]["RunKey"];
            /** @description The kind of the message that became a run. */
            reason?: components["schemas"]["MessageKind"];
            /** @description The message, by the key of the run that it asks for. */
            run_key: components["schemas"]["RunKey"];
            /** @description What was decided. */
            verdict: components["schemas"]["WakeOutcome"];
        };
        /** @description What was decided about a cause. */
        WakeOutcome: "run" | "queued" | "absorbed" | "cancelled" | "replaced" | "run_open" | "paused" | "braked" | "stopped" | "not_active" | "dormant" | "destroyed" | "interactive_only" | "own_write" | "causal_depth_exceeded" | "predicate_false" | "guard_false" | "subscription_paused" | "nothing_to_do" | "queue_full" | "agent_is_itself" | "agent_unknown" | "agent_waits" | "too_deep";
        /** @description What kept an agent from being woken. */
        WhyNot: {
            /** @description The agent. */
            agent_id: string;
            /** @description Whether it works on what waits for it. */
            control: components["schemas"]["AgentControl"];
            /** @description What holds it. */
            holds: components["schemas"]["Hold"][];
            /**
             * Format: date-time
             * @description When something last tried to wake it.
             */
            last_tried_at?: string;
            /** @description Where it stands in its life. */
            lifecycle: components["schemas"]["Lifecycle"];
            /** @description Who may wake it. */
            mode: components["schemas"]["InteractionMode"];
            /** @description What waits for it, next first; at most 20. */
            queued: components["schemas"]["QueuedWake"][];
            /** @description How many messages wait in all. */
            queued_count: number;
            /** @description Refusals by source, reason and day, newest day first. */
            refusals: components["schemas"]["RefusalCount"][];
            /** @description What was refused, newest first; at most 20. */
            refused: components["schemas"]["Wake"][];
            /** @description How many schedules it has; counted up to 500. */
            schedule_count: number;
            /** @description Its schedules, the next moment first; at most 20. */
            schedules: components["schemas"]["NextFiring"][];
            /**
             * Format: date-time
             * @description From when on.
             */
            since: string;
            /** @description How many subscriptions it has; counted up to 500. */
            subscription_count: number;
            /** @description All of it in one sentence. */
            summary: string;
        };
        /** @description Why there is a run, or why there is none. */
        WhyRun: {
            /** @description What it took up beside its own message; at most 20. */
            absorbed: components["schemas"]["Wake"][];
            /** @description The run that took it up, if another did. */
            absorbed_by?: string;
            /** @description How many those are in all. */
            absorbed_count: number;
            /** @description Who was to be woken. */
            agent_id: string;
            /**
             * Format: date-time
             * @description When that was decided.
             */
            at: string;
            /** @description What arose. */
            cause: components["schemas"]["WakeCause"];
            /** @description Every gate that was looked at. */
            gates: components["schemas"]["Gate"][];
            /** @description What would have to change, where it was refused. */
            hint?: string;
            /** @description What holds it, while it waits. */
            holds: components["schemas"]["Hold"][];
            /**
             * Format: date-time
             * @description Until when it waits by itself.
             */
            not_before?: string;
            /** @description The run's key. */
            run_key: string;
            /** @description `queued`, the status of the run, or what was decided instead of a run. */
            status: components["schemas"]["RunStatus"];
            /** @description All of it in one sentence. */
            summary: string;
            /** @description How the message begins. */
            text?: string;
            /** @description `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal; absent where no record was kept. */
            verdict?: components["schemas"]["WakeOutcome"];
        };
        /** @description A write that somebody wants. */
        WriteJournal: {
            /** @description Names this write: the same key again is the same write. */
            key?: string | null;
            /** @description What is to be written, in one transaction. */
            write: components["schemas"]["JournalWrite"];
        };
        /** @description What was written. The same write again gives the same answer. */
        WriteReceipt: {
            /** @description What kind of record. */
            kind: components["schemas"]["RecordKind"];
            /** @description Which one. */
            record_id: string;
            /** @description How many writes it has seen with this one. */
            version: number;
        };
    };
    responses: {
        /** @description The input is not as its schema says; the message names the part */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The body is too large */
        BodyTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Something is broken inside; the log says what */
        Broken: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description It does not go together with how things are; the code says why */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The request comes from a foreign page, or its login does not suffice */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The head of the request is too large; there is no body */
        HeadTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The Host header names another server */
        Misdirected: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Nothing has this name */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The body is not declared as JSON */
        NotJson: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The body did not come in time */
        RequestTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Too many within a minute; Retry-After says when to come again */
        TooManyRequests: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The request carries no valid token */
        Unauthorized: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Not now: starting, stopping, overloaded, or the database does not answer */
        Unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_agents: {
        parameters: {
            query?: {
                /** @description Also those that were made for one call. */
                include_private?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents, by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_agent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAgent"];
            };
        };
        responses: {
            /** @description It is there now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            /** @description There is one of that name already, or the workspace cannot be used */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    activate_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is active */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    destroy_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone for good */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description A run of it is under way */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    make_agent_dormant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is dormant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    erase_content: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's name. */
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EraseContent"];
            };
        };
        responses: {
            /** @description They are gone */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erasure"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such agent or run */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The run has not ended, the last event is before the first, or the log changed at the same moment */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_agent_events: {
        parameters: {
            query?: {
                /** @description Only those with a greater number, oldest first. A page begins with the first when absent, a stream with the next. */
                after_seq?: number;
                /** @description Only those with a smaller number; without `after_seq` the newest of them, oldest first. Not for a stream. */
                before_seq?: number;
                /** @description Most rows of a page. */
                limit?: number;
                /** @description For a stream of a browser: a one-use ticket, which stands in for the header `X-Wakeful-Token`. */
                ticket?: string;
            };
            header?: {
                /** @description For streams: the id of the last event seen; pages do not look at it */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The agent's name. */
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_external_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trigger; its path is a secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalTrigger"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    revoke_external_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trigger, without a path */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalTrigger"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotate_external_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trigger; its path is a secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalTrigger"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    send_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names what is sent, like `key` in the body */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The agent's name. */
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendMessage"];
            };
        };
        responses: {
            /** @description It is kept; its run answers it, now or later */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedMessage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The key was used before for another message, two keys differ, an attachment is not what it says, or the model, the workspace or a tool does not exist here */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    set_agent_mode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's name. */
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetAgentMode"];
            };
        };
        responses: {
            /** @description It is set */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    set_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's name. */
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetModel"];
            };
        };
        responses: {
            /** @description The agent */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description There is no such model */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    pause_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is paused; a run that is under way goes on to its end */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    clear_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nothing waits */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    resume_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It works */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_agent_runs: {
        parameters: {
            query?: {
                /** @description Only those that are older than this one. */
                before?: string;
                /** @description Most rows. */
                limit?: number;
                /** @description Only those in this state. */
                state?: components["schemas"]["RunState"];
            };
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    set_agent_sleep: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's name. */
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetAgentSleep"];
            };
        };
        responses: {
            /** @description It sleeps */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The time has passed, or the agent is gone for good */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_agent_spending: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its days */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentSpending"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_agent_state: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent, its queue and its newest runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_agent_status: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    stop_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is stopped; a run that is under way goes on to its end */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_agent_transcript: {
        parameters: {
            query?: {
                /** @description Most lines, from the newest back. */
                limit?: number;
            };
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lines */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transcript"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    wake_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does not sleep */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description It is stopped, or gone for good */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_why_not: {
        parameters: {
            query?: {
                /** @description From when on; the last day where nothing is said. */
                since?: string;
            };
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was refused, what waits and what holds it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyNot"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_brakes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The brakes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrakeList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    set_brake: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetBrake"];
            };
        };
        responses: {
            /** @description It holds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrakeList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such agent */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    release_brake: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseBrake"];
            };
        };
        responses: {
            /** @description What still holds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrakeList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description An agent's own tool asks (`caller_is_tool_process`) */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is no such agent */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_budget: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Today's money */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    set_cap: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetCap"];
            };
        };
        responses: {
            /** @description It holds from the next request on */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Budget"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such agent */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_decisions: {
        parameters: {
            query?: {
                /** @description Only those that wait for an answer; `false` for those that are closed, too, newest first. */
                pending?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The questions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_decision: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The question's name, or the first digits of it. */
                decision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The question */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Decision"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description Several begin like this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    answer_decision: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The question's name, or the first digits of it. */
                decision_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerDecision"];
            };
        };
        responses: {
            /** @description The answer stands, and the run goes on by it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Decision"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description It takes no answer by this way (`answer_not_allowed`), or an agent's own tool asks (`caller_is_tool_process`) */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description There is no such question, or it has no such option (`option_unknown`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description It is closed (`decision_closed`), has changed since it was read (`decision_changed`), or several begin like this */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_events: {
        parameters: {
            query?: {
                /** @description Go on from here, as an earlier answer said. When absent, a page has the newest, and a stream begins with the next. */
                cursor?: string;
                /** @description Most rows of a page. */
                limit?: number;
                /** @description For a stream of a browser: a one-use ticket, which stands in for the header `X-Wakeful-Token`. */
                ticket?: string;
            };
            header?: {
                /** @description For streams: the id of the last event seen; pages do not look at it */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventFeed"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The cursor was never given out */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    raise_event: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names what is sent, like `key` in the body */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description What happened. */
                event: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RaiseEvent"];
            };
        };
        responses: {
            /** @description What became of each schedule that waits for it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventFirings"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description There are two keys, or too many schedules wait for the event */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    deliver_external_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                external_trigger_id: string;
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description It is accepted, or was before */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerDeliveryResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such trigger: never was, revoked, or with another address */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The agent accepts nothing now; the code says why */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_categories: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The categories */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JournalCategoryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_category: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateCategory"];
            };
        };
        responses: {
            /** @description It is written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteReceipt"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            /** @description The name is taken, or the key was used for another write */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_changes: {
        parameters: {
            query?: {
                /** @description Only those after this number. */
                after_seq?: number;
                /** @description Most changes; the last transaction is told whole. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JournalChangeList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_notes: {
        parameters: {
            query?: {
                /** @description Most notes, from the newest back. */
                limit?: number;
                /** @description Only those about this task. */
                task_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The notes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_note: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateNote"];
            };
        };
        responses: {
            /** @description It is written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteReceipt"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such task */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_records: {
        parameters: {
            query: {
                /** @description Only those of this day. */
                date?: string;
                /** @description Of what kind. */
                kind: components["schemas"]["RecordListKind"];
                /** @description Most records. */
                limit?: number;
                /** @description With the kind `any`: how the id begins. */
                prefix?: string;
                /** @description Only those that belong to this record. */
                related_id?: string;
                /** @description Only time entries that run. */
                running?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The records */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JournalRecordList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The record that the kind belongs to is not named */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_record: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                record_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JournalRecord"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_sagas: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sagas */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SagaList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    resolve_saga: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is still not over */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SagaList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description No such saga is stuck */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_tasks: {
        parameters: {
            query?: {
                /** @description Most tasks, from the newest back. */
                limit?: number;
                /** @description Only those whose id begins like this. */
                prefix?: string;
                /** @description Only those with this status. */
                status?: components["schemas"]["TaskStatus"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tasks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_task: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateTask"];
            };
        };
        responses: {
            /** @description It is written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteReceipt"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such category */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    update_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id. */
                task_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateTask"];
            };
        };
        responses: {
            /** @description It is written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteReceipt"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such task or category */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Nothing would change, or the key was used before for another write */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    write_journal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteJournal"];
            };
        };
        responses: {
            /** @description It is written */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteReceipt"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such record */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_login_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginLink"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_login_page: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_logins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The logins, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    revoke_all_logins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No browser is logged in any more */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    revoke_login: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                login_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The login is ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    log_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The login is ended for good, and the cookie deleted in the browser */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_open_api: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The contract */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_privacy_receipts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The confirmations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrivacyReceipt"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    confirm_provider: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is confirmed, for every set of rules there is */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrivacyReceipt"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description Only this agent's. */
                agent_id?: string;
                /** @description Only those that are older than this one. */
                before?: string;
                /** @description Most rows. */
                limit?: number;
                /** @description Only those whose key begins with these digits: at most two, which is enough to know it is ambiguous. With it the other parameters count for nothing. */
                prefix?: string;
                /** @description Only those in this state. */
                state?: components["schemas"]["RunState"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such agent */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    abandon_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description It is not quarantined (`run_not_quarantined`) */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancel_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run as it stands; an open one ends at its next safe point */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description It is in force here, and the database does not have it yet */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PendingCancel"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    resume_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is open again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description It is not quarantined (`run_not_quarantined`) */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_why_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What led to it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyRun"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    shut_down: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It will end in a moment */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadinessStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_runtime_status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The daemon */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuntimeStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                /** @description Only those whose name comes after this one. */
                after?: string;
                /** @description Only those of this agent. */
                agent_id?: string;
                /** @description Most schedules, by name. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    add_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddSchedule"];
            };
        };
        responses: {
            /** @description It is made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such agent */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The name is taken, the agent is gone for good, or the pattern never fires here */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    edit_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditSchedule"];
            };
        };
        responses: {
            /** @description It is changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description It is over, or its new pattern never fires here */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    disable_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is over */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_scheduled_executions: {
        parameters: {
            query?: {
                /** @description Most records, from the newest back. */
                limit?: number;
            };
            header?: never;
            path: {
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The history */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleHistory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is paused */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It fires again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    trigger_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                schedule_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TriggerSchedule"];
            };
        };
        responses: {
            /** @description What became of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledExecution"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_sources: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sources */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    add_source: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddSource"];
            };
        };
        responses: {
            /** @description It is watched */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            /** @description The name or the path is taken, there are too many, or it cannot be watched */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    remove_source: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                source_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone; this is what it was */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    scan_source: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                source_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it came to */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceScan"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description It cannot be read; the message says why */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_default_agent_state: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent, its queue and its newest runs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description It has not been made yet */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_default_agent_status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description It has not been made yet */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_stream_ticket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ticket */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamTicket"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_subscriptions: {
        parameters: {
            query?: {
                /** @description Only those whose names come after this one. */
                after?: string;
                /** @description Only those of this agent. */
                agent_id?: string;
                /** @description Most subscriptions. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscriptions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such agent */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSubscription"];
            };
        };
        responses: {
            /** @description It holds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such agent */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Another one has this name, there are too many, or its terms are too large */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    delete_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                subscription_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone; this is what it was */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    pause_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                subscription_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is paused */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    resume_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                subscription_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It wakes its agent again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_login_page: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            503: components["responses"]["Unavailable"];
        };
    };
    enter_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EnterLogin"];
            };
        };
        responses: {
            /** @description Logged in; the cookie is in the header */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginGrant"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            /** @description The link was used, or is too old (`login_link_expired`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["NotJson"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The numbers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            500: components["responses"]["Broken"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It can */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadinessStatus"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["HeadTooLarge"];
            /** @description Not yet, not now, or no longer */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadinessStatus"];
                };
            };
        };
    };
}

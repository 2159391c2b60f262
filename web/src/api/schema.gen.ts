// Written by `npm run types` from docs/openapi.json. Do not edit.

export interface paths {
    "/api/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists all public agents. */
        get: operations["list_agents"];
        put?: never;
        /** Creates an agent. */
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
        /** Activates an agent: every cause that its mode allows can wake it. */
        post: operations["activate_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/audit/{seq}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Retrieves the audit entry of an event, with the record of its tool call. */
        get: operations["get_audit_entry"];
        put?: never;
        post?: never;
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
        /**
         * Destroys an agent permanently.
         * @description Queued messages are cancelled. The agent's history remains readable.
         */
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
        /**
         * Makes an agent dormant: only a person can wake it.
         * @description Messages that are already queued still run.
         */
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
        /**
         * Erases the contents of a finished run or of a range of events.
         * @description The log stays verifiable and records the erasure. Audit entries of the contents are removed as well; the request is recorded as the consent to it. Messages to the agent that were typed in `wakeful chat` are removed too.
         */
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
        /**
         * Lists the events of an agent.
         * @description With `Accept: text/event-stream` the response is a stream that continues with new events as they happen.
         */
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
        /**
         * Retrieves the external trigger of an agent, and creates it if there is none.
         * @description The path stays the same until it is rotated or revoked.
         */
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
        /** Revokes the external trigger: it accepts no deliveries until its path is rotated. */
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
        /** Replaces the path of the external trigger. The previous path stops working. */
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
        /** Adds a message to an agent's queue. The message is durable when the response is sent. */
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
        /** Sets the mode of an agent: which causes may wake it. */
        post: operations["set_agent_mode"];
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
        /** Pauses an agent: messages are queued and nothing starts. */
        post: operations["pause_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the policies in force for an agent: those that people wrote and those that follow from settings. */
        get: operations["get_agent_policy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/policy/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Explains the verdict on a call that an agent could make. Nothing is executed. */
        post: operations["explain_call"];
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
        /** Cancels every queued message of an agent. An open run continues. */
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
        /** Lists the runs of an agent, newest first. */
        get: operations["list_agent_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Retrieves the settings of an agent. */
        get: operations["get_agent_settings"];
        put?: never;
        /**
         * Changes settings of an agent.
         * @description A missing field keeps its value, and null restores the default. An open run uses the new lists of tools and agents for its next action; model, folder and maximum rounds apply to runs that start afterwards.
         */
        post: operations["change_agent_settings"];
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
        /**
         * Puts an agent to sleep until a given time.
         * @description Until then only a person can wake it; all other messages stay queued.
         */
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
        /** Retrieves the spending of an agent for the last days. */
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
        /**
         * Retrieves the status, the queue and the newest runs of an agent.
         * @description Call it before following the agent's events, starting at `after_seq`.
         */
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
        /**
         * Retrieves the status of an agent.
         * @description The response is small; its size does not depend on the length of the agent's history.
         */
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
        /** Stops an agent: messages are refused until it is resumed. */
        post: operations["stop_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{agent_id}/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the conversations of an agent, the most recent first.
         * @description A conversation is listed when the run of its first message has started.
         */
        get: operations["list_agent_threads"];
        put?: never;
        post?: never;
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
        /** Retrieves the newest entries of an agent's transcript, oldest first. */
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
        /**
         * Ends the sleep of an agent, so that its queued messages start.
         * @description The log records it as a person's override.
         */
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
        /** Explains what kept an agent from being woken. */
        get: operations["get_why_not"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what needs a person, over all agents.
         * @description The list follows from stored state: a failure stays until it is dismissed or run again, however many events follow it.
         */
        get: operations["list_attention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/attention/dismiss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Dismisses failed runs and runs with unknown outcomes, for all clients.
         * @description Older failures of the same agent with the same cause are dismissed as well, because they are one item. Runs that do not need attention are skipped.
         */
        post: operations["dismiss_attention"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists audit entries, newest first.
         * @description There is one entry for each verdict on a tool call, each answer of a person, and each stop of a call or of a model request, denials included. Entries are never changed, and never pruned.
         */
        get: operations["list_audit_entries"];
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
        /** Lists the brakes that are set. */
        get: operations["list_brakes"];
        put?: never;
        /**
         * Sets a brake on one agent or on all agents.
         * @description Messages are queued, nothing starts, and work in progress is stopped. A brake that is already set is not changed. The brake is in force when the response is sent, even if the database cannot store it; `not_durable` then contains the reason, and the brake is stored as soon as possible.
         */
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
        /**
         * Releases a brake.
         * @description Held work resumes where it stopped. Releasing a brake that is not set has no effect. The release takes effect only when the database has stored it.
         */
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
        /** Retrieves today's spending, the caps and the cost of the last days. */
        get: operations["get_budget"];
        put?: never;
        /**
         * Sets or removes the daily cap of one agent or of all agents together.
         * @description Runs that are parked for budget are checked again.
         */
        post: operations["set_cap"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/budget/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists all limits with their use, including the daily caps on money. */
        get: operations["list_limits"];
        put?: never;
        /**
         * Sets a limit on what agents use, or changes one whose use is kept.
         * @description A new limit counts use from now on. Work that it does not cover waits until the period ends or a person raises the limit. A limit of zero lets nothing start that uses the resource.
         */
        post: operations["set_limit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/budget/limits/{limit_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Changes a limit. Its use is kept, and work that waits for it is checked again. */
        post: operations["change_limit"];
        /** Removes a limit with its use. A removed daily cap on all agents has its default again. */
        delete: operations["clear_limit"];
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
        /** Lists decisions: the pending ones in order of urgency, or all of them, newest first. */
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
        /** Retrieves a decision with its complete arguments and its notifications. */
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
        /**
         * Answers a decision. A decision can be answered once.
         * @description If `version` is given, the answer is accepted only for that version of the decision.
         */
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
        /**
         * Lists the events of all public agents.
         * @description With `Accept: text/event-stream` the response is a stream of events as they happen.
         */
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
        /**
         * Raises an event: every active schedule that waits for it fires.
         * @description Raising an event again with the same key fires nothing.
         */
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
        /**
         * Wakes the agent of an external trigger.
         * @description The agent receives the body, which can have any content type, as untrusted data. `Idempotency-Key` or `X-Delivery-Id` names the delivery, so that a repeated delivery is accepted once; without a name, equal bodies within a minute are one delivery. `X-Correlation-Id` and `X-Causation-Id` name the chain of causes and the direct cause; they are stored and shown.
         */
        post: operations["deliver_external_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/folders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the folders with an answer of the operator, and the workspaces of agents. */
        get: operations["list_folders"];
        put?: never;
        /** Trusts a folder with everything below it, or stops trusting it. The nearest answer above a file applies. */
        post: operations["trust_folder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/folders/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the files of a folder that actions with untrusted data may have written since the last review. */
        get: operations["list_untrusted_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/folders/review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Marks a folder as reviewed: what was written until a time counts as the operator's. */
        post: operations["review_folder"];
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
        /** Lists categories by name. */
        get: operations["list_categories"];
        put?: never;
        /** Creates a category. */
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
        /** Lists the committed changes after a sequence number, oldest first. */
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
        /** Lists notes, newest first. */
        get: operations["list_notes"];
        put?: never;
        /** Creates a note. */
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
        /** Lists the records of a kind. */
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
        /** Retrieves a record of any kind, including deleted records. */
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
        /**
         * Lists the sagas that have not finished, oldest first.
         * @description A saga is a write of an agent to the journal.
         */
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
        /**
         * Resolves a stuck saga by accepting the journal as it is.
         * @description Use it when the write could not be undone.
         */
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
        /** Lists tasks, newest first. */
        get: operations["list_tasks"];
        put?: never;
        /** Creates a task. */
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
        /** Retrieves a task. */
        get: operations["get_task"];
        put?: never;
        /** Updates a task. Fields that are left out do not change. */
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
        /** Writes to the journal. All records of one write are committed in one transaction. */
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
        /**
         * Creates a link that logs a browser in.
         * @description The link works once, within one minute. Requires the API token.
         */
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
        /** Writes a login link to a file that only the daemon's user can read, for a browser to open. Requires the API token. */
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
        /** Lists the browsers that are logged in. */
        get: operations["list_logins"];
        put?: never;
        post?: never;
        /** Revokes all logins. */
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
        /**
         * Revokes a login.
         * @description Its requests are refused and its streams end. A restart does not restore it.
         */
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
        /** Logs this browser out and deletes its cookie. */
        post: operations["log_out"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the models that a person can choose for a run, an agent or as the default. */
        get: operations["list_models"];
        put?: never;
        post?: never;
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
        /** Retrieves this OpenAPI document. */
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
        /**
         * Lists all privacy receipts, oldest first.
         * @description A privacy receipt confirms that a provider may receive agents' work.
         */
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
        /** Confirms that a provider may receive agents' work under the current policies. */
        post: operations["confirm_provider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the built-in and the configured model providers.
         * @description Nothing is sent to a provider. Keys are never returned, only where they are stored.
         */
        get: operations["list_providers"];
        put?: never;
        /**
         * Adds a provider with its own address, and stores its key if one is given.
         * @description It is tested first with a request that costs nothing. If it refuses the key, nothing is stored unless `skip_test` is true; a provider that cannot be reached is added. The address of an existing provider is never changed here, because its key would be sent to the new address.
         */
        post: operations["add_provider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/providers/local": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Looks for model servers on this machine, at the usual ports of Ollama, LM Studio, llama.cpp and vLLM.
         * @description Only loopback addresses are tried, and only when this endpoint is called.
         */
        get: operations["find_local_providers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/providers/{provider}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stores the key of a provider, in the system's keyring or in a file that only the owner can read.
         * @description The key is tested first with a request that costs nothing. If the provider refuses the key, nothing is stored unless `skip_test` is true. Running work uses the key from the next model request on.
         */
        post: operations["set_provider_key"];
        /** Removes the stored key of a provider. A file or keyring entry that Wakeful did not create stays. */
        delete: operations["remove_provider_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/providers/{provider}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tests whether a provider can be reached, accepts its key and knows a model, without cost. */
        post: operations["test_provider"];
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
        /** Lists the runs of all agents, newest first. */
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
        /**
         * Retrieves a run with all of its steps.
         * @description A queued message is returned as a run with the outcome `queued`, a refused cause with `refused`.
         */
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
        /**
         * Abandons a quarantined run.
         * @description Completed steps remain. Unfinished writes to the journal are undone.
         */
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
        /** Cancels a run, or removes its message from the queue. A run that has ended does not change. */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Retrieves what a run changed in its workspace.
         * @description The changes are the difference between the snapshots of the workspace before the run's first write and after its last one. Files that the workspace ignores, large files and data of Git are not covered.
         */
        get: operations["get_run_changes"];
        put?: never;
        post?: never;
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
    "/api/runs/{run_key}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs an ended run again: a new message of the same agent and conversation, linked to the run.
         * @description While the same retry of the run is queued or open, that one is returned as a duplicate. With `from_step`, the new run has its own conversation. It begins with everything before the model request of that step, so that nothing that happened before is repeated.
         */
        post: operations["retry_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/steps/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Retrieves one step of a run in full.
         * @description Each text of the step has at most 1 MiB. In the run itself each has at most 16 KiB.
         */
        get: operations["get_run_step"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/steps/{operation_id}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explains the verdict that a recorded call of a run would have now, beside the recorded one. */
        get: operations["explain_step"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run_key}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restores the files of an ended run to their state before it, or undoes that.
         * @description Only files that are exactly as the run left them are restored; the others are listed as skipped. A process that a tool started may not call this.
         */
        post: operations["undo_run"];
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
        /**
         * Explains why a run exists, or why it does not.
         * @description It also accepts keys of causes that never became a run.
         */
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
        /**
         * Shuts the daemon down.
         * @description Runs continue to a safe point and resume when the daemon is started again. No agent is stopped.
         */
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
        /** Retrieves the status of the daemon. */
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
        /** Lists schedules by name. */
        get: operations["list_schedules"];
        put?: never;
        /**
         * Creates a schedule.
         * @description Without `always`, it wakes the agent only if something changed since the agent last ran.
         */
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
        /** Retrieves a schedule. */
        get: operations["get_schedule"];
        put?: never;
        /**
         * Updates a schedule.
         * @description A new pattern or time zone creates a new revision, which starts now.
         */
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
        /** Disables a schedule permanently. Its history remains. */
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
        /** Lists the firings of a schedule, newest first. */
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
        /** Pauses a schedule. Firings that are missed during the pause are not caught up. */
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
        /** Fires a schedule now, even if nothing changed. Later firings are not affected. */
        post: operations["trigger_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the stored secrets. Values are never returned, only where they are stored. */
        get: operations["list_secrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stores a secret, in the system's keyring or in a file that only the owner can read.
         * @description An agent's commands receive it only if the agent's settings list it (`sandbox.allowed_secrets`) and the command names it. The value is removed from everything that is stored or shown.
         */
        post: operations["set_secret"];
        /** Removes a secret, and its name from the lists of the agents. A file or keyring entry that Wakeful did not create stays. */
        delete: operations["remove_secret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists all settings of the home with their values and origins.
         * @description Keys are never returned, only where they are stored.
         */
        get: operations["list_settings"];
        put?: never;
        /**
         * Changes a setting in the settings file, or removes it from the file.
         * @description A running daemon uses it from the next step on, unless it needs a restart.
         */
        post: operations["change_setting"];
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
        /** Lists all sources by name. */
        get: operations["list_sources"];
        put?: never;
        /**
         * Starts watching a folder or a Git repository.
         * @description Existing contents are scanned once and do not count as changes, so the request takes as long as the scan. Adding the same source again has no effect.
         */
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
        /** Stops watching a source and deletes its stored scan results. */
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
        /** Retrieves the status, the queue and the newest runs of the default agent. */
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
        /** Retrieves the status of the default agent. */
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
        /**
         * Creates a ticket for one event stream of this browser.
         * @description Browsers cannot send headers with an event stream and use a ticket instead. Programs do not need one.
         */
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
        /** Lists subscriptions by name. */
        get: operations["list_subscriptions"];
        put?: never;
        /**
         * Creates a subscription: changes that match it wake its agent from now on.
         * @description Creating the same subscription again has no effect.
         */
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
        /**
         * Changes terms of a subscription. Terms that are absent stay as they are.
         * @description Changes that are not dispatched yet are matched against the new terms. Messages that it queued stay queued.
         */
        post: operations["edit_subscription"];
        /** Deletes a subscription. Messages that it queued stay queued. */
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
        /**
         * Pauses a subscription: it wakes nothing until it is resumed.
         * @description Matches during the pause are counted as refused and are not delivered later. Messages that it queued stay queued.
         */
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
        /** Resumes a subscription. It matches changes that are committed from now on. */
        post: operations["resume_subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tools that agents can have. */
        get: operations["list_tools"];
        put?: never;
        post?: never;
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
        /** Checks whether the daemon process is alive. */
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
        /** Retrieves the login page, which reads the code of a login link from the fragment of its URL. */
        get: operations["get_login_page"];
        put?: never;
        /** Exchanges the code of a login link for a login: a cookie, and the token that must be sent with it. */
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
        /** Retrieves metrics in the Prometheus text format. */
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
        /** Checks whether the daemon can serve requests. */
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
        /** @description A message that was stored. */
        AcceptedMessage: {
            /** @description Whether the message was new. */
            admission: components["schemas"]["Admission"];
            /** @description The agent whose queue contains the message. */
            agent_id: string;
            /** @description In how many texts of the message a secret or a key was replaced before it was stored. */
            redacted?: number;
            /** @description The key of the run that handles the message, now or later. */
            run_key: string;
        };
        /** @description A permitted action was cancelled before it started. */
        ActionCancelled: {
            /** @description The category of the denial, if it was denied. */
            category?: components["schemas"]["DenialCategory"];
            /** @description Stable code of the reason. */
            code?: string;
            /**
             * @description Always 0, because the action never started.
             * @default 0
             */
            duration_ms: number;
            /** @description The same error in one line. */
            error?: string;
            /** @description Id of the action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The stage at which the action stopped, if it must not start. */
            stage?: components["schemas"]["GateStage"];
            /** @description Result of the action. */
            status: components["schemas"]["StepStatus"];
            /** @description The tool that the action would have used. */
            tool: string;
            /** @description The error with its parts. */
            tool_error?: components["schemas"]["ErrorEnvelope"];
        };
        /** @description What an agent is doing now. */
        Activity: "asleep" | "queued" | "working" | "waiting_on_human" | "waiting" | "stuck";
        /** @description Who performed a manual action. */
        Actor: "operator";
        /** @description The provider to add. */
        AddProvider: {
            /** @description The base URL: https, or http on this machine. */
            base_url: string;
            /** @description The key: printable ASCII characters without spaces. Surrounding white space is removed. */
            key?: string | null;
            /** @description The wire format. */
            kind: components["schemas"]["ProviderKind"];
            /** @description The name, which is the part of a model reference before the slash. */
            provider: string;
            /**
             * @description Add the provider without testing it.
             * @default false
             */
            skip_test?: boolean;
        };
        /** @description The schedule to create. */
        AddSchedule: {
            /** @description The agent that the schedule wakes. */
            agent_id: string;
            /** @description Whether missed firings are caught up. Defaults to the setting `schedule.catch_up` of the home. */
            allows_catch_up?: boolean | null;
            /** @description Whether the schedule wakes the agent even if nothing changed. Defaults to true if it has a message. */
            always?: boolean | null;
            /**
             * @description Whether the schedule is disabled after its first firing. A schedule with a single time always is.
             * @default false
             */
            auto_disable_after_run?: boolean;
            /** @description The maximum age of a missed firing that is caught up, in seconds. Defaults to one day. */
            catch_up_window_seconds?: number | null;
            /** @description How a firing is handled while the previous one is in progress. Defaults to `forbid`. */
            concurrency?: components["schemas"]["Concurrency"] | null;
            /** @description The event that fires the schedule in addition to its pattern. */
            event?: string | null;
            /** @description A predicate that must be true for a firing to wake the agent, over `since_last_run_ms`, `queued`, `changed`, `source` and `is_catch_up`. If it is false, the firing is skipped and recorded. */
            guard?: components["schemas"]["ScheduleGuard"] | null;
            /**
             * @description Whether the schedule is created paused.
             * @default false
             */
            is_paused?: boolean;
            /** @description The label that people see. Defaults to the schedule's name. */
            label?: string | null;
            /** @description The maximum number of missed firings that run at once. Defaults to 1. */
            max_catch_up_runs_per_tick?: number | null;
            /** @description The message that a firing delivers to the agent. Without one, a firing wakes the agent only if something changed. */
            message?: string | null;
            /** @description When the schedule fires. */
            pattern: components["schemas"]["SchedulePattern"];
            /** @description The schedule's name. If absent, a name is generated. */
            schedule_id?: string | null;
        };
        /** @description The source to add. Adding the same source again has no effect. */
        AddSource: {
            /** @description The kind of source. */
            kind: components["schemas"]["SourceKind"];
            /** @description The absolute path of the source. */
            path: string;
            /** @description The source's name. If absent, a name is generated. */
            source_id?: string | null;
        };
        /** @description An added provider, and the result of its test. */
        AddedProvider: {
            /** @description The provider. */
            provider: components["schemas"]["ModelProvider"];
            /** @description The result of the test. Absent if it was skipped. */
            test?: components["schemas"]["ProviderTest"];
        };
        /** @description Whether a message was new. */
        Admission: "new" | "duplicate";
        /** @description How the sender was authenticated. */
        AdmissionContext: "local_process" | "control_authenticated" | "external_trigger_capability" | "runtime_owned";
        /** @description The spending and the cap of one agent today. */
        AgentBudget: {
            /** @description The agent's name. */
            agent_id: string;
            /** @description The daily cap of the agent. Absent if only the cap for all agents applies. */
            daily_cap_usd?: string;
            /** @description The number of model requests today. */
            requests: number;
            /** @description The amount reserved for the agent's requests in progress. */
            reserved_usd: string;
            /** @description The amount spent today. */
            spent_usd: string;
        };
        /**
         * @description A capability in the person's journal.
         * @enum {string}
         */
        AgentCapability: "categoryRead" | "taskRead" | "taskWrite" | "checklistWrite" | "timeWrite" | "dayPlanRead" | "dayPlanWrite" | "ratingRead" | "ratingWrite";
        /** @description Whether an agent works on its queue. A person sets it, independently of the lifecycle. */
        AgentControl: "running" | "paused" | "stopped";
        /** @description An agent's id, chosen by a person or generated for a temporary agent. Validated once, on input. */
        AgentId: string;
        /** @description A list of agents. */
        AgentList: {
            /** @description The agents, sorted by name. */
            agents: components["schemas"]["AgentStatus"][];
        };
        /** @description The models of an agent's next run and where they were chosen. A run in progress keeps its own models. */
        AgentModelState: {
            /** @description The fallback models, in order. Each is requested when the one before it has failed permanently. */
            effective_fallback_models: string[];
            /** @description The model that is requested first. */
            effective_model: string;
            /** @description The model or route that was chosen for this agent. */
            override_model?: string;
            /** @description The model or route of agents without an override. */
            runtime_default_model: string;
            /** @description Where the model was chosen. */
            source: components["schemas"]["ModelSource"];
        };
        /** @description The policies in force for an agent. */
        AgentPolicy: {
            /** @description The agent. */
            agent_id: string;
            /** @description The folder of the policies for all agents, and that of the agent. */
            folders: string[];
            /** @description The hooks of the operator that run for the agent, in their order. */
            hooks?: components["schemas"]["HookRecord"][];
            /** @description How much the agent may do without a person. */
            mode: components["schemas"]["PermissionMode"];
            /** @description The policies. */
            policies: components["schemas"]["PolicyRecord"][];
            /** @description The version of everything that a verdict depends on. */
            policy_version: string;
            /** @description The files that are refused. The last valid version of a policy file stays in force; a hook file blocks every call until it is valid. */
            problems?: components["schemas"]["PolicyFileProblem"][];
            /** @description What the agent's sandbox allows, and the limits of its tools. */
            sandbox: components["schemas"]["SandboxPolicy"];
        };
        /** @description The settings of an agent. */
        AgentSettings: {
            /** @description The agent's name. */
            agent_id: string;
            /** @description The categories of the journal that the agent may use; `*` alone means every category. */
            allowed_category_ids: string[];
            /** @description The channels through which the agent's decisions may be answered. Absent if the configured ones apply. */
            answer_channels?: components["schemas"]["Channel"][];
            /** @description Tools that require a person's approval. */
            ask_tools: string[];
            /** @description Tools that require approval in the runs of every agent, from the configuration. */
            ask_tools_of_all_agents: string[];
            /** @description The capabilities that the agent has. Absent if it has all of them. */
            capabilities?: components["schemas"]["Capability"][];
            /** @description The agent's daily cap in US dollars. Absent if only the cap of all agents applies. */
            daily_usd?: string;
            /** @description Tools that the agent may not use. */
            deny_tools: string[];
            /** @description What the agent is for; empty without a description. */
            description: string;
            /** @description The models that are used in this order if the model fails permanently. Absent if the configured ones apply. */
            fallbacks?: string[];
            /** @description What happens before a call of a run with untrusted data that acts on a foreign target. Absent if the configured policy applies. */
            foreign_targets?: components["schemas"]["ForeignTargetPolicy"];
            /** @description What is watched for in the agent's messages, replies and calls. */
            guardrails: components["schemas"]["GuardrailPolicy"];
            /** @description The agent's instructions, which are sent with each model request. Absent without instructions. They are stored in the file `agents/AGENT/AGENTS.md` of the home. */
            instructions?: string;
            /** @description The maximum number of model rounds of a run. Absent if the configured number applies. */
            max_rounds?: number;
            /** @description Agents whose runs the agent may start. */
            may_start: string[];
            /** @description The model of the agent's runs. Absent if the default model applies. */
            model?: string;
            /** @description Why a model could not be verified. Only in the response to the change that set it. */
            model_warning?: string;
            /** @description How much the agent's runs may do without a person. */
            permission_mode: components["schemas"]["PermissionMode"];
            /** @description What the agent's sandbox allows beyond its workspace. */
            sandbox: components["schemas"]["SandboxScope"];
            /** @description How often the agent may use a tool, by the tool's name. */
            tool_quotas: {
                [key: string]: components["schemas"]["ToolQuota"];
            };
            /** @description Whether the provider of the agent's model may search the web while it writes a reply. */
            web_search: boolean;
            /** @description The folder in which the agent's commands run. */
            workspace: string;
        };
        /** @description The spending of an agent for the last days. */
        AgentSpending: {
            /** @description The agent's name. */
            agent_id: string;
            /** @description The days with spending, oldest first; at most 31. */
            days: components["schemas"]["DaySpending"][];
        };
        /** @description The status, queue and newest runs of an agent. The page loads it before it follows the events. */
        AgentState: {
            /** @description The sequence number after which to follow the agent's events. */
            after_seq: number;
            /** @description The status of the agent. */
            agent: components["schemas"]["AgentStatus"];
            /** @description The queued messages, next first; at most 50. */
            queue: components["schemas"]["QueuedMessage"][];
            /** @description The newest runs, newest first; at most 50. */
            runs: components["schemas"]["RunSummary"][];
        };
        /** @description A change of an agent's state or configuration. */
        AgentStateChanged: {
            /** @constant */
            change: "created";
            /** @description Whether the agent works on its queue. */
            control: components["schemas"]["AgentControl"];
            /**
             * @description Which causes may wake the agent.
             * @default hybrid
             */
            mode: components["schemas"]["InteractionMode"];
        } | {
            /** @constant */
            change: "control";
            /** @description The new control state. */
            control: components["schemas"]["AgentControl"];
        } | {
            /** @constant */
            change: "lifecycle";
            /** @description The new lifecycle. */
            lifecycle: components["schemas"]["Lifecycle"];
        } | {
            /** @constant */
            change: "mode";
            /** @description The new mode. */
            mode: components["schemas"]["InteractionMode"];
        } | {
            /** @constant */
            change: "sleep";
            /** @description End of the sleep barrier. */
            until: string;
        } | {
            /** @constant */
            change: "wake";
            /** @description Who removed it. */
            override: components["schemas"]["Actor"];
        } | {
            /** @constant */
            change: "trigger";
            /** @description How the trigger changed. */
            trigger: components["schemas"]["TriggerChange"];
        } | {
            /** @description Time at which the backup was made. */
            backup_made_at: string;
            /** @constant */
            change: "restored";
            /** @description Host and incarnation that continue the agent. */
            incarnation: components["schemas"]["Incarnation"];
        } | {
            /** @constant */
            change: "subscription";
            /** @description How the subscription changed. */
            state: components["schemas"]["SubscriptionChange"];
            /** @description Id of the subscription. */
            subscription: components["schemas"]["RuleId"];
        } | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | components["schemas"]["ScheduleChange"] | {
            /** @constant */
            change: "schedule_unreadable";
            /** @description The unreadable column. */
            column: string;
            /** @description Id of the schedule. */
            schedule_id: string;
        } | {
            /** @constant */
            change: "budget_day";
            /** @description Channel through which a person reset it. */
            channel: components["schemas"]["Channel"];
            /** @description The previous day. */
            from: components["schemas"]["UtcDay"] | null;
            /** @description The new day. */
            to: components["schemas"]["UtcDay"];
        } | {
            /** @constant */
            change: "settings";
            /** @description The changed settings with their new values; null if the default was restored. Instructions are represented by their hash. */
            changed: {
                [key: string]: unknown;
            };
        };
        /** @description The current status of an agent. Its size does not depend on the length of the agent's history. */
        AgentStatus: {
            /** @description What the agent is doing now. */
            activity: components["schemas"]["Activity"];
            /** @description The agent's name. */
            agent_id: string;
            /** @description Whether the agent is running, paused or stopped. */
            control: components["schemas"]["AgentControl"];
            /**
             * Format: date-time
             * @description When the agent was created.
             */
            created_at: string;
            /** @description What the agent is for. Absent without a description. */
            description?: string;
            /** @description Whether a brake holds the agent, either its own or the one for all agents. Messages are queued and nothing starts. */
            is_braked: boolean;
            /** @description The newest run. */
            last_run?: components["schemas"]["RunSummary"];
            /** @description The sequence number of the agent's newest event; 0 before the first event. */
            last_seq: number;
            /** @description The lifecycle state of the agent. */
            lifecycle: components["schemas"]["Lifecycle"];
            /** @description The guidance files of the agent, without their contents. Returned for a single agent, not in lists. */
            loaded_agents_md?: components["schemas"]["LoadedAgentsMd"][];
            /** @description Which causes may wake the agent. */
            mode: components["schemas"]["InteractionMode"];
            /** @description The model that was chosen for this agent. Absent if the default model applies. */
            model?: string;
            /** @description The number of model rounds of all runs of the agent. */
            model_rounds: number;
            /** @description The models of the agent's next run and where they were chosen. Returned for a single agent, not in lists. */
            model_state?: components["schemas"]["AgentModelState"];
            /** @description Why a model could not be verified. Only in the response to the change that set it. */
            model_warning?: string;
            /** @description The key of the open run. Absent if no run is open. */
            open_run?: string;
            /** @description The number of queued messages. */
            pending: number;
            /** @description The number of pending decisions of its runs. */
            pending_decisions: number;
            /** @description The number of quarantined runs, which wait until a person resumes or abandons them. */
            quarantined_runs: number;
            /**
             * Format: date-time
             * @description Until this time only a person can wake the agent. Absent if the agent was not put to sleep.
             */
            sleep_until?: string;
            /** @description The tokens used by all runs of the agent. */
            token_usage: components["schemas"]["TokenUsage"];
            /** @description Whether the agent appears in lists. */
            visibility: components["schemas"]["Visibility"];
            /** @description The folder in which the agent's commands run. */
            workspace: string;
        };
        /** @description A file or folder that may be used. */
        AllowedPath: {
            /** @description What may be done with it. Writing includes reading. */
            access: components["schemas"]["PathAccess"];
            /** @description The path. */
            path: string;
        };
        /** @description The answer to a decision. */
        Answer: {
            /**
             * Format: date-time
             * @description When the answer was given.
             */
            at: string;
            /** @description The channel through which the answer arrived. */
            channel: components["schemas"]["Channel"];
            /** @description The note that the person added. */
            note?: string;
            /** @description The id of the chosen option. */
            option: string;
        };
        /** @description The answer to give. */
        AnswerDecision: {
            /** @description A note to add. The model reads it if the action is denied. */
            note?: string | null;
            /** @description The id of one of the decision's options. */
            option: string;
            /** @description The version of the decision that you read. If absent, the current version is answered. */
            version?: number | null;
        };
        /** @description A model reply. */
        AssistantRoundRecorded: {
            /** @description Number of the round. */
            round: number;
            /**
             * @description Beginning of the reply's text.
             * @default
             */
            text: string;
            /**
             * @description The requested tools.
             * @default []
             */
            tools: string[];
            /** @description The queries with which the provider searched the web for the reply. */
            web_searches?: string[];
        };
        /** @description An image or a document that is sent with a message. */
        AttachmentInput: {
            /** @description The contents in base64 with padding; at most 5 MiB before encoding. */
            data: string;
            /** @description The media type, which must match the first bytes of the file. */
            media_type: string;
            /** @description The file name, without folders. */
            name: string;
        };
        /** @description One request to one model within a round. */
        Attempt: {
            /** @description Whether this attempt caused the run to use the next model of the route. */
            advanced_to_fallback: boolean;
            /** @description The number of the attempt with this model within its round, starting at 1. */
            attempt: number;
            /** @description The backoff after the attempt, in milliseconds. */
            backoff_ms?: number;
            /**
             * Format: date-time
             * @description When the attempt ended.
             */
            completed_at: string;
            /** @description The cost in dollars. Absent if the attempt cost nothing. */
            cost_usd?: string;
            /** @description Whether the failure can be retried. */
            disposition?: components["schemas"]["ModelFailureKind"];
            /** @description The duration in milliseconds, without the backoff before the attempt. */
            duration_ms: number;
            /** @description The code of the failure. */
            failure_kind?: string;
            /** @description The maximum number of attempts with this model in the round. */
            max_attempts: number;
            /** @description The model that was requested. */
            model_ref: string;
            /** @description The step that records the attempt. */
            operation_id: string;
            /** @description How the attempt ended. */
            outcome: components["schemas"]["AttemptOutcome"];
            /** @description The provider of the model. */
            provider: string;
            /** @description The policy rule that allowed the request, or the code of the gate that refused it. */
            rule: string;
            /**
             * Format: date-time
             * @description When the attempt started.
             */
            started_at: string;
            /** @description The tokens used, if the provider counted them. */
            token_usage?: components["schemas"]["TokenUsage"];
            /** @description Transport details of a failed attempt. */
            transport_diagnostics?: unknown;
        };
        /** @description How an attempt ended. */
        AttemptOutcome: "retrying" | "retries_exhausted" | "fail_fast_aborted" | "succeeded";
        /** @description All attempts of the model rounds of a run. */
        AttemptTimeline: {
            /** @description The model of the latest attempt. */
            active_model_ref?: string;
            /** @description The tokens of all attempts. Absent if no provider counted them. */
            aggregated_token_usage?: components["schemas"]["TokenUsage"];
            /** @description The attempts, in the order in which they were made. */
            attempts: components["schemas"]["Attempt"][];
            /** @description The model that the run requested. */
            requested_model_ref: string;
            /** @description The model that answered last. */
            winning_model_ref?: string;
        };
        /** @description A person dismissed failures that needed attention. */
        AttentionDismissed: {
            /** @description Keys of the dismissed runs. */
            run_keys: components["schemas"]["RunKey"][];
        };
        /** @description One thing that needs a person. */
        AttentionItem: {
            /** @description The decision. */
            decision: components["schemas"]["Decision"];
            /** @constant */
            kind: "pending_decision";
        } | {
            /** @constant */
            kind: "quarantined_run";
            /** @description The run. */
            run: components["schemas"]["RunSummary"];
        } | {
            /** @constant */
            kind: "parked_run";
            /** @description Why it waits. */
            parked?: components["schemas"]["ParkedReason"];
            /** @description The run. */
            run: components["schemas"]["RunSummary"];
        } | {
            /** @description The agent and the reason. */
            agent: components["schemas"]["StuckAgent"];
            /** @constant */
            kind: "stuck_agent";
        } | {
            /** @description The agent of the runs. */
            agent_id: string;
            /** @description The kind of the failure, or `out_of_rounds`. */
            code: string;
            /** @description The number of runs. */
            count: number;
            /**
             * Format: date-time
             * @description When the first of them ended.
             */
            first_at: string;
            /** @constant */
            kind: "failed_runs";
            /**
             * Format: date-time
             * @description When the last of them ended.
             */
            last_at: string;
            /** @description The cause in plain words. */
            message: string;
            /** @description What a person can do, the most useful step first. */
            next_steps: components["schemas"]["NextStep"][];
            /** @description The beginning of the message that started the newest one. */
            preview?: string;
            /** @description The newest runs, newest first; at most 20. */
            run_keys: string[];
        } | {
            /** @constant */
            kind: "unknown_outcome";
            /** @description The run. */
            run: components["schemas"]["RunSummary"];
        };
        /** @description What needs a person, over all agents. */
        AttentionList: {
            /** @description The items: decisions first, then runs and agents that cannot continue, then failures. */
            items: components["schemas"]["AttentionItem"][];
            /** @description The number of decisions and runs that need attention and are not part of the list, because it is limited. */
            more?: number;
        };
        /** @description What an audit entry says about a call. */
        AuditDecision: "permit" | "ask" | "deny";
        /** @description An audit entry with the record of its tool call. */
        AuditDetail: {
            /** @description The entry. */
            entry: components["schemas"]["AuditEntry"];
            /** @description The record of the tool call, performed or denied. Absent for a model request, and while the call is open. */
            invocation?: components["schemas"]["ToolInvocation"];
        };
        /** @description What was decided about a tool call or a model request. */
        AuditEntry: {
            /** @description The agent's name. */
            agent_id: string;
            /**
             * Format: date-time
             * @description When it was decided.
             */
            at: string;
            /** @description The category of a denial. */
            category?: components["schemas"]["DenialCategory"];
            /** @description What was decided. */
            decision: components["schemas"]["AuditDecision"];
            /** @description The operation id of the tool call. Absent for a model request. */
            operation_id?: string;
            /** @description The version of the policy that was applied. Absent if no policy decided. */
            policy_version?: string;
            /** @description Why. */
            reason: string;
            /** @description The rule that decided, or the code of the stop. */
            rule: string;
            /** @description The run. */
            run_key?: string;
            /** @description The sequence number of the event in the agent's log that the entry belongs to. */
            seq: number;
            /** @description The stage that decided. */
            stage: components["schemas"]["GateStage"];
            /** @description The tool. Empty for a model request. */
            tool: string;
        };
        /** @description A page of audit entries, newest first. */
        AuditList: {
            /** @description The entries. */
            entries: components["schemas"]["AuditEntry"][];
            /** @description The cursor for the next page. Absent on the last page. */
            next_cursor?: string;
        };
        /** @description The authority of a message. It is derived at admission and never accepted from a sender. */
        Authority: "operator_instruction" | "runtime_instruction" | "integration_signal" | "external_evidence";
        /** @description What makes the backups of a home. */
        BackupMode: "daily" | "off" | "database_server";
        /** @description A failed attempt to make a daily backup. */
        BackupProblem: {
            /** @description A stable code for programs. */
            code: string;
            /** @description What to do about it. */
            hint: string;
            /** @description One sentence for a person. */
            message: string;
            /**
             * Format: date-time
             * @description When the attempt failed.
             */
            occurred_at: string;
        };
        /** @description The daily backups of a home. */
        BackupStatus: {
            /** @description The size of all of them. */
            bytes: number;
            /** @description The number of daily backups in the folder. */
            count: number;
            /** @description The folder of the daily backups. */
            folder: string;
            /** @description What makes the backups. */
            mode: components["schemas"]["BackupMode"];
            /**
             * Format: date-time
             * @description When the newest one was made. Absent before the first.
             */
            newest_at?: string;
            /** @description Why the last attempt failed. Absent after a successful backup. */
            problem?: components["schemas"]["BackupProblem"];
        };
        /** @description Why a decision is highlighted in a list. */
        Badge: "timed_out";
        /** @description How far the consequences reach. `unknown` counts as the farthest. */
        BlastRadius: "trivial" | "small" | "medium" | "large" | "unknown";
        /** @description The SHA-256 of a blob's content, which is its name. */
        BlobHash: components["schemas"]["Digest"];
        /** @description One block of content. */
        Block: {
            /** @description The text. */
            text: string;
            /** @constant */
            type: "text";
        } | {
            /** @description A summary of the reasoning; often empty. */
            text: string;
            /** @constant */
            type: "thinking";
        } | {
            /** @description The query; empty for what was found. */
            query: string;
            /** @description The addresses of what was found, as far as the provider reports them. */
            sources: string[];
            /** @constant */
            type: "web_search";
        } | {
            /** @description The length of the contents in base64, in bytes. */
            base64_bytes: number;
            /** @description The media type, such as `image/png`. */
            media_type: string;
            /** @description The file name. */
            name: string;
            /** @constant */
            type: "attachment";
        } | {
            /** @description The id that connects the call with its result. */
            call_id: string;
            /** @description The arguments as the model wrote them. */
            input: unknown;
            /** @description The name of the tool, as the model wrote it. */
            name: string;
            /** @constant */
            type: "tool_use";
        } | {
            /** @description The id of the call. */
            call_id: string;
            /** @description The result that the model reads: JSON as a string. */
            content: string;
            /** @description The error with its parts. Absent if the call succeeded, or if the result itself describes the failure. */
            error?: components["schemas"]["ErrorEnvelope"];
            /** @description Whether the tool call failed. */
            is_error: boolean;
            /** @constant */
            type: "tool_result";
        };
        /** @description A brake that is set. It prevents the agents that it holds from starting anything. */
        Brake: {
            /** @description The agent that the brake holds. Absent if the brake holds all agents. */
            agent_id?: string;
            /**
             * Format: date-time
             * @description When the brake was set.
             */
            at: string;
            /** @description The channel through which the brake was set. */
            channel: components["schemas"]["Channel"];
            /** @description Why the brake is not stored in the database yet. Absent once it is stored. */
            not_durable?: components["schemas"]["NotDurable"];
            /** @description The reason given when the brake was set; empty if none was given. */
            reason: string;
        };
        /** @description A brake was set or released. */
        BrakeChanged: {
            /** @description Channel through which it was changed. */
            channel: components["schemas"]["Channel"];
            /** @description Whether the brake is set. */
            is_on: boolean;
            /** @description Reason for setting it. */
            reason?: string;
            /** @description The agent's name, or `all` for the brake of all agents. */
            scope: string;
        };
        /** @description The brakes that are set. */
        BrakeList: {
            /** @description All brakes; the brake for all agents comes first. */
            brakes: components["schemas"]["Brake"][];
            /** @description Whether the brake for all agents is set. */
            is_on: boolean;
        };
        /** @description Today's spending, the caps and the cost of the last days. Amounts are decimal strings in US dollars, so that no amount is rounded. */
        Budget: {
            /** @description All agents that have their own cap or spent something today, sorted by name. */
            agents: components["schemas"]["AgentBudget"][];
            /** @description The origin of that cap. */
            cap_origin: components["schemas"]["CapOrigin"];
            /** @description The daily cap of all agents together. */
            daily_cap_usd: string;
            /**
             * Format: date
             * @description The current day in UTC.
             */
            day: string;
            /** @description The last days with spending, oldest first; at most 31. */
            days: components["schemas"]["DaySpending"][];
            /**
             * Format: date-time
             * @description When the next day begins.
             */
            next_day_at: string;
            /** @description The amount reserved for requests in progress. */
            reserved_usd: string;
            /** @description The amount spent by all agents today. */
            spent_usd: string;
        };
        /** @description Work that does not fit under a limit. Amounts are in the smallest unit of the resource. */
        BudgetExceeded: {
            /** @description The id of the limit. Absent for a daily cap on money. */
            limit?: components["schemas"]["LimitId"];
            /** @description The limit. */
            max: number;
            /** @description What the work may use at most. */
            needed: number;
            /** @description The period of the limit. */
            period: components["schemas"]["BudgetPeriod"];
            /**
             * @description The reserved part of `used`, which may be released soon.
             * @default 0
             */
            reserved: number;
            /** @description What the limit counts. */
            resource: components["schemas"]["BudgetResource"];
            /** @description The scope of the limit. */
            scope: components["schemas"]["BudgetScope"];
            /**
             * Format: int64
             * @description When the period ends, in milliseconds since 1970. Absent for a limit that only a person can raise.
             */
            until_ms?: number;
            /** @description What is used in the period, settled and reserved. */
            used: number;
        };
        /** @description A limit on what agents use, and its use. Amounts are in the smallest unit of the resource: millionths of a dollar, tokens, milliseconds, calls or bytes. */
        BudgetLimit: {
            /**
             * Format: date-time
             * @description Since when use is counted. Absent for a daily cap, which counts the whole day.
             */
            counted_since?: string;
            /**
             * Format: date-time
             * @description When the limit is used up if its use continues at the average rate. Absent if that is after the period, or nothing was used.
             */
            exhausted_at?: string;
            /** @description The id of the limit. Commands accept its first digits. */
            limit_id: string;
            /** @description The limit. */
            max: number;
            /** @description Whether a person set it, or it is the default. */
            origin: components["schemas"]["CapOrigin"];
            /** @description How long use counts. Always `lifetime` for a run, a tree of runs and a session. */
            period: components["schemas"]["BudgetPeriod"];
            /**
             * Format: date-time
             * @description When the period ends. Absent for a limit that is never reset.
             */
            period_ends_at?: string;
            /** @description What is reserved for work in progress. */
            reserved: number;
            /** @description What it counts. */
            resource: components["schemas"]["BudgetResource"];
            /** @description Whose use it counts. */
            scope: components["schemas"]["BudgetScope"];
            /** @description The agent, the session as `AGENT/SESSION`, or the key of the run. Absent for all agents. */
            subject?: string;
            /** @description What is used in the current period. */
            used: number;
        };
        /** @description How long use counts against a limit. Days, months and years are those of UTC. */
        BudgetPeriod: ("daily" | "monthly" | "yearly") | "lifetime";
        /** @description What a limit counts. */
        BudgetResource: "money" | "tokens" | "run_time" | "tool_calls" | "written_bytes";
        /** @description Whose use a limit counts, in the order in which pools are locked. */
        BudgetScope: "all" | "tree" | "agent" | "session" | "run";
        /** @description The origin of a cap. */
        CapOrigin: "set" | "default";
        /** @description What a tool needs. */
        Capability: components["schemas"]["AgentCapability"] | components["schemas"]["EnvironmentCapability"];
        /** @description The settings to change. A missing field keeps its value, and null restores the default. */
        ChangeAgentSettings: {
            /** @description The categories of the journal that the agent may use; `*` alone means every category, which is the default. */
            allowed_category_ids?: string[] | null;
            /** @description The channels through which the agent's decisions may be answered. */
            answer_channels?: components["schemas"]["Channel"][] | null;
            /** @description Tools that require a person's approval. */
            ask_tools?: string[] | null;
            /** @description The capabilities that the agent has. A tool that needs another one is denied and not offered. */
            capabilities?: components["schemas"]["Capability"][] | null;
            /** @description The agent's daily cap in US dollars, with at most six decimals. */
            daily_usd?: string | null;
            /** @description Tools that the agent may not use. */
            deny_tools?: string[] | null;
            /** @description What the agent is for. */
            description?: string | null;
            /** @description The models that are used in this order if the model fails permanently. */
            fallbacks?: string[] | null;
            /** @description What happens before a call of a run with untrusted data that acts on a foreign target. */
            foreign_targets?: components["schemas"]["ForeignTargetPolicy"] | null;
            /** @description What is watched for in the agent's messages, replies and calls. The whole value is replaced. */
            guardrails?: components["schemas"]["GuardrailPolicy"] | null;
            /** @description The agent's instructions, which are sent with each model request; at most 32 KiB. */
            instructions?: string | null;
            /** @description The maximum number of model rounds of a run. */
            max_rounds?: number | null;
            /** @description Agents whose runs the agent may start. */
            may_start?: string[] | null;
            /** @description The model of the agent's runs. */
            model?: string | null;
            /** @description How much the agent's runs may do without a person. */
            permission_mode?: components["schemas"]["PermissionMode"] | null;
            /** @description What the agent's sandbox allows beyond its workspace. The whole value is replaced. */
            sandbox?: components["schemas"]["SandboxScope"] | null;
            /** @description Accept models without asking their providers whether they have them. */
            skip_model_test?: boolean;
            /** @description How often the agent may use a tool, by the tool's name. The whole value is replaced. */
            tool_quotas?: {
                [key: string]: components["schemas"]["ToolQuota"];
            } | null;
            /** @description Whether the provider of the agent's model may search the web while it writes a reply. It is offered only while the policy permits the tool `WebSearch` without asking. */
            web_search?: boolean | null;
            /** @description The folder in which the agent's commands run; an absolute path. */
            workspace?: string | null;
        };
        /** @description The new amount of a limit. */
        ChangeLimit: {
            /** @description The limit, in the smallest unit of the resource. */
            max: number;
        };
        /** @description The setting to change. */
        ChangeSetting: {
            /** @description The name, such as `server.port`. */
            name: string;
            /** @description Accept models without asking their providers whether they have them. */
            skip_model_test?: boolean;
            /** @description The new value: text, a number, true or false, or a list of texts. Null removes the setting from the file, so that the default applies again. */
            value: unknown;
        };
        /** @description A changed file. */
        ChangedFile: {
            /** @description How it was changed. */
            change: components["schemas"]["FileChangeKind"];
            /** @description Added lines. Absent for a binary file. */
            lines_added?: number;
            /** @description Removed lines. Absent for a binary file. */
            lines_removed?: number;
            /** @description The path in the workspace; bytes that are not UTF-8 are written as `\xNN`. */
            path: string;
        };
        /** @description How an answer or a brake arrived. */
        Channel: "cli" | "api" | "page";
        /** @description The error flags that the HTTP client reports. */
        ClientFlags: {
            /** @description The body ended early. */
            is_body: boolean;
            /** @description The connection failed. */
            is_connect: boolean;
            /** @description The body could not be decoded. */
            is_decode: boolean;
            /** @description A redirect was received. */
            is_redirect: boolean;
            /** @description The request could not be sent. */
            is_request: boolean;
            /** @description The request timed out. */
            is_timeout: boolean;
        };
        /** @description Whether a call was permitted. */
        ComplianceStatus: "compliant" | "non_compliant";
        /** @description What happens to a firing while the previous one is in progress. */
        Concurrency: "allow" | "forbid" | "replace";
        /** @description How far the commands of agents are confined, one line for each thing that they must not do. */
        Confinement: {
            /** @description Affecting other processes, or leaving ones behind. */
            child_process: components["schemas"]["ConfinementState"];
            /** @description Reaching hosts that are not permitted. */
            network: components["schemas"]["ConfinementState"];
            /** @description Reading outside the permitted paths. */
            path: components["schemas"]["ConfinementState"];
            /** @description Reading credentials and the home of Wakeful. */
            secret: components["schemas"]["ConfinementState"];
            /** @description Writing outside the permitted paths, and changing protected ones. */
            write: components["schemas"]["ConfinementState"];
        };
        /** @description Whether the kernel enforces a line of the confinement. */
        ConfinementState: "enforced" | "partly_enforced" | "not_enforced";
        /** @description The connections of a command to one host with one result. */
        Connection: {
            /** @description The number of equal connections. */
            count: number;
            /** @description The host as the command named it. */
            host: string;
            /** @description The port on the host. */
            port: number;
            /** @description The entry of the agent's list that allowed it, or why it was refused or failed. */
            reason: string;
            /** @description Bytes that the command received. */
            received_bytes: number;
            /** @description Bytes that the command sent. */
            sent_bytes: number;
            verdict: components["schemas"]["ConnectionVerdict"];
        };
        /** @description A connection of a command was refused. */
        ConnectionRefused: {
            /** @description How often the command tried. */
            count: number;
            /** @description The verdict: always a denial. */
            effect: components["schemas"]["PolicyEffect"];
            /** @description The host as the command named it. */
            host: string;
            /** @description Id of the action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The port on the host. */
            port: number;
            /** @description Why: the host, and the entry of the list that excludes it. */
            reason: string;
            /** @description The tool that the action used. */
            tool: string;
        };
        /** @description What happened to a connection. */
        ConnectionVerdict: "allowed" | "refused" | "failed";
        /** @description A person erased contents. */
        ContentErased: {
            /**
             * @description Number of removed audit entries.
             * @default 0
             */
            audit_entries: number;
            /**
             * @description Number of deleted blobs.
             * @default 0
             */
            blobs: number;
            /** @description Who erased them. */
            by: components["schemas"]["Actor"];
            /** @description Channel through which the erasure was requested. */
            channel: components["schemas"]["Channel"];
            /**
             * @description Number of erased event payloads.
             * @default 0
             */
            events: number;
            /**
             * @description Reason given by the person.
             * @default
             */
            reason: string;
            /**
             * @description Number of erased transitions of the run log.
             * @default 0
             */
            transitions: number;
        } | {
            /** @description Key of the run. */
            run_key: components["schemas"]["RunKey"];
        } | {
            /** @description First event of the range. */
            first_seq: number;
            /** @description Last event of the range. */
            last_seq: number;
        };
        /** @description The agent to create. Settings that are absent or null have their defaults. */
        CreateAgent: {
            /** @description The agent's name. */
            agent_id: string;
            /** @description The categories of the journal that the agent may use; `*` alone means every category, which is the default. */
            allowed_category_ids?: string[] | null;
            /** @description The channels through which the agent's decisions may be answered. */
            answer_channels?: components["schemas"]["Channel"][] | null;
            /** @description Tools that require a person's approval. */
            ask_tools?: string[] | null;
            /** @description The capabilities that the agent has. A tool that needs another one is denied and not offered. */
            capabilities?: components["schemas"]["Capability"][] | null;
            /** @description The agent's daily cap in US dollars, with at most six decimals. */
            daily_usd?: string | null;
            /** @description Tools that the agent may not use. */
            deny_tools?: string[] | null;
            /** @description What the agent is for. */
            description?: string | null;
            /** @description The models that are used in this order if the model fails permanently. */
            fallbacks?: string[] | null;
            /** @description What happens before a call of a run with untrusted data that acts on a foreign target. */
            foreign_targets?: components["schemas"]["ForeignTargetPolicy"] | null;
            /** @description What is watched for in the agent's messages, replies and calls. The whole value is replaced. */
            guardrails?: components["schemas"]["GuardrailPolicy"] | null;
            /** @description The agent's instructions, which are sent with each model request; at most 32 KiB. */
            instructions?: string | null;
            /** @description The maximum number of model rounds of a run. */
            max_rounds?: number | null;
            /** @description Agents whose runs the agent may start. */
            may_start?: string[] | null;
            /** @description Which causes may wake the agent. Defaults to `hybrid`. */
            mode?: components["schemas"]["InteractionMode"] | null;
            /** @description The model of the agent's runs. */
            model?: string | null;
            /** @description How much the agent's runs may do without a person. */
            permission_mode?: components["schemas"]["PermissionMode"] | null;
            /** @description What the agent's sandbox allows beyond its workspace. The whole value is replaced. */
            sandbox?: components["schemas"]["SandboxScope"] | null;
            /** @description Accept models without asking their providers whether they have them. */
            skip_model_test?: boolean;
            /** @description How often the agent may use a tool, by the tool's name. The whole value is replaced. */
            tool_quotas?: {
                [key: string]: components["schemas"]["ToolQuota"];
            } | null;
            /**
             * @description Whether the agent appears in lists.
             * @default public
             */
            visibility?: components["schemas"]["Visibility"];
            /** @description Whether the provider of the agent's model may search the web while it writes a reply. It is offered only while the policy permits the tool `WebSearch` without asking. */
            web_search?: boolean | null;
            /** @description The folder in which the agent's commands run; an absolute path. */
            workspace?: string | null;
        };
        /** @description The category to create. */
        CreateCategory: {
            /** @description The idempotency key: repeating a write with the same key has no further effect. */
            key?: string | null;
            /** @description The name that people see. */
            name: string;
        };
        /** @description The note to create. */
        CreateNote: {
            /** @description The idempotency key: repeating a write with the same key has no further effect. */
            key?: string | null;
            /** @description The task that the note is about. */
            task_id?: string | null;
            /** @description The text of the note. */
            text: string;
        };
        /** @description The subscription to create. Creating it again with the same name and specification has no effect. */
        CreateSubscription: {
            /** @description The agent that the subscription wakes. */
            agent_id: string;
            /**
             * @description Tokens that must all match.
             * @default []
             */
            all?: string[];
            /**
             * @description Tokens of which at least one must match.
             * @default []
             */
            any?: string[];
            /**
             * @description How long nothing starts after a wake by this subscription, in milliseconds.
             * @default 0
             */
            cooldown_ms?: number;
            /**
             * @description How long changes are collected before they wake the agent, in milliseconds, counted from the first of them.
             * @default 0
             */
            debounce_ms?: number;
            /** @description A predicate over the agent and the change. */
            guard?: components["schemas"]["Predicate"] | null;
            /**
             * @description The instruction for the agent.
             * @default
             */
            message?: string;
            /** @description A predicate over the changed record. */
            predicate?: components["schemas"]["Predicate"] | null;
            /** @description The subscription's name. If absent, a name is generated. */
            subscription_id?: string | null;
        } | {
            any: unknown;
        } | {
            all: unknown;
        };
        /** @description The task to create. */
        CreateTask: {
            /** @description The category of the task. */
            category_id?: string | null;
            /** @description The details. */
            details?: string | null;
            /** @description The idempotency key: repeating a write with the same key has no further effect. */
            key?: string | null;
            /** @description The title, in one line. */
            title: string;
        };
        /** @description What a daemon is doing. */
        DaemonState: "idle" | "waiting" | "processing";
        /** @description Classes of data with separate retention limits. */
        DataClass: "events" | "traces" | "blobs";
        /** @description Retention removed old data. */
        DataPruned: {
            /**
             * @description Size of the removed rows in bytes.
             * @default 0
             */
            bytes: number;
            /** @description Class of the data. */
            class: components["schemas"]["DataClass"];
            /** @description Number of removed rows. */
            rows: number;
            /**
             * @description Time of the newest removed row.
             * @default
             */
            until: string;
        };
        /** @description A block of a day plan to create or replace. */
        DayPlanBlockWrite: {
            /** @description The block to replace. If absent, a new block is created. */
            block_id?: string | null;
            /** @description The category that is planned for the block. */
            category_id?: string | null;
            /**
             * Format: date-time
             * @description When the block ends.
             */
            ends_at: string;
            /** @description A note about the block. */
            note?: string | null;
            /**
             * Format: date-time
             * @description When the block starts.
             */
            starts_at: string;
            /** @description The task that is planned for the block. */
            task_id?: string | null;
        };
        /** @description The spending of one day. */
        DaySpending: {
            /**
             * Format: date
             * @description The day in UTC.
             */
            day: string;
            /** @description The number of model requests. */
            requests: number;
            /** @description The amount that is still reserved. */
            reserved_usd: string;
            /** @description The amount spent. */
            spent_usd: string;
        };
        /** @description A question that a person answers while a run waits for it. */
        Decision: {
            /** @description The agent whose run asks. */
            agent_id: string;
            /** @description The answer, if one was given. */
            answer?: components["schemas"]["Answer"];
            /**
             * Format: date-time
             * @description When the decision was requested.
             */
            asked_at: string;
            /** @description Reasons why the decision is highlighted in a list. */
            badges: components["schemas"]["Badge"][];
            /** @description How far the consequences of the action reach. */
            blast_radius: components["schemas"]["BlastRadius"];
            /**
             * Format: date-time
             * @description When the decision was closed, for any reason.
             */
            closed_at?: string;
            /**
             * Format: date-time
             * @description When an unanswered decision rises in severity, or is cancelled if its severity cannot rise. Absent if it has no deadline.
             */
            deadline_at?: string;
            /** @description The decision's id. */
            decision_id: string;
            /** @description What the action would change in files when the question was asked, as a unified diff of at most 12,000 characters. Invisible characters are escaped. Absent if it changes no files, and in lists. */
            diff?: string;
            /** @description The untrusted text that names what the action acts on, with what stands around it. Invisible characters are escaped. Absent if no such text led to the question, and once it is erased. */
            evidence?: components["schemas"]["Evidence"];
            /** @description The arguments of the action as JSON: complete for a single decision, at most 4 MiB; shortened to one line in lists. Invisible characters are escaped. */
            input: string;
            /** @description Why the complete arguments are not available. Absent if they are, and in lists. */
            input_gone?: components["schemas"]["InputGone"];
            /** @description Whether `input` is shortened. `GET /api/decisions/{decision_id}` returns the complete arguments. */
            is_input_cut: boolean;
            /** @description The kind of decision. */
            kind: components["schemas"]["DecisionKind"];
            /** @description The channels through which an answer is accepted. */
            may_answer: components["schemas"]["Channel"][];
            /** @description The notifications about this decision. Returned for a single decision, not in lists. */
            notifications?: components["schemas"]["DecisionNotification"][];
            /** @description The action that waits for the decision. */
            operation_id: string;
            /** @description The options to choose from. */
            options: components["schemas"]["DecisionOption"][];
            /** @description The option that is safe to choose. Absent if no option is recommended. */
            recommended_option_id?: string;
            /** @description The earlier action that this action would repeat. */
            retries?: string;
            /** @description The policy rule that requires the decision. */
            rule: string;
            /** @description The run that waits for the decision. */
            run_key: string;
            /** @description How urgent the decision is. */
            severity: components["schemas"]["Severity"];
            /** @description The status of the decision. */
            status: components["schemas"]["DecisionStatus"];
            /** @description What the action acts on, with symlinks resolved: `write /etc/hosts (outside)`. An approval holds only for these targets; if they change before the action begins, it is judged and asked about again. Invisible characters are escaped. Empty for an action without paths and hosts, and once they are erased. */
            targets?: string[];
            /** @description The question in one line. */
            title: string;
            /** @description The tool that the action uses. */
            tool: string;
            /** @description The version, which grows with every change. Send it with an answer to ensure that the decision has not changed since you read it. */
            version: number;
        };
        /** @description A decision was answered, or cancelled after its deadline. */
        DecisionAnswered: {
            /** @description Channel through which it arrived. */
            channel?: components["schemas"]["Channel"];
            /** @description Id of the decision. */
            decision_id: components["schemas"]["DecisionId"];
            /**
             * @description The note that the person added.
             * @default null
             */
            note?: string | null;
            /** @description The waiting action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description Id of the chosen option. */
            option?: string;
            /** @description Severity, if it was not answered. */
            severity?: components["schemas"]["Severity"];
            /** @description Status of the decision. */
            status: components["schemas"]["DecisionStatus"];
            /** @description The question in one line, if it was not answered. */
            title?: string;
            /** @description The tool that the action uses. */
            tool: string;
            /** @description Version of the decision; increases with every change. */
            version: number;
        };
        /** @description A decision was requested from a person. */
        DecisionAsked: {
            /** @description How far the consequences reach. */
            blast_radius: components["schemas"]["BlastRadius"];
            /** @description Id of the decision. */
            decision_id: components["schemas"]["DecisionId"];
            /** @description Beginning of the tool's arguments. */
            input: string;
            /** @description Kind of decision. */
            kind: components["schemas"]["DecisionKind"];
            /** @description The waiting action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description Ids of the possible answers. */
            options: string[];
            /**
             * @description The earlier action that this one would repeat.
             * @default null
             */
            retries: components["schemas"]["OperationId"] | null;
            /** @description The policy rule that requires approval. */
            rule: string;
            /** @description How urgent the answer is. */
            severity: components["schemas"]["Severity"];
            /** @description The question in one line. */
            title: string;
            /** @description The tool that the action uses. */
            tool: string;
        };
        /** @description A decision passed its deadline. */
        DecisionEscalated: {
            /** @description Id of the decision. */
            decision_id: components["schemas"]["DecisionId"];
            /** @description The waiting action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The new severity. */
            severity: components["schemas"]["Severity"];
            /** @description Status of the decision. */
            status: components["schemas"]["DecisionStatus"];
            /** @description The question in one line. */
            title: string;
            /** @description The tool that the action uses. */
            tool: string;
            /** @description Version of the decision; increases with every change. */
            version: number;
        };
        /** @description The id of a decision about one action. It is derived, so that a repeated write creates the same decision. */
        DecisionId: components["schemas"]["Digest"];
        /** @description The kind of decision. */
        DecisionKind: "tool_approval" | "outcome_unknown";
        /** @description A list of decisions. */
        DecisionList: {
            /** @description The decisions; at most 500. */
            decisions: components["schemas"]["Decision"][];
            /** @description The number of pending decisions. */
            pending_count: number;
        };
        /** @description A notification about a decision, delivered or failed. */
        DecisionNotification: {
            /**
             * Format: date-time
             * @description When delivery was last attempted.
             */
            at: string;
            /** @description The number of delivery attempts. */
            attempts: number;
            /** @description The error of the last attempt. */
            error?: string;
            /** @description Whether the notification was delivered. */
            is_delivered: boolean;
            /** @description The severity of the decision when the notification was created. */
            severity: components["schemas"]["Severity"];
            /** @description The notification target: `desktop`, `webhook` or `command`. */
            target: string;
        };
        /** @description One possible answer. */
        DecisionOption: {
            /** @description The consequence of this answer. */
            description: string;
            /** @description The id to answer with. */
            id: string;
            /** @description The button label. */
            label: string;
            /** @description The disadvantages of this answer. */
            tradeoffs?: string;
        };
        /** @description The status of a decision. */
        DecisionStatus: "pending" | "answered" | "cancelled" | "withdrawn";
        /** @description A step of the decision on a call. */
        DecisionStep: "load_policy" | "check_constraints" | "evaluate_policies" | "record" | "perform" | "ask_person" | "refuse";
        /** @description The model that is used when a message names none. */
        DefaultModel: {
            /** @description Whether it is the built-in demo script, which does not call a real model. */
            is_demo: boolean;
            /** @description The model reference. */
            reference: string;
        };
        /** @description Why the queue delays a message. */
        DelayKind: "asleep" | "not_before";
        /** @description The effect of a delivery. */
        DeliveryMode: "wake_hint";
        /** @description The interface through which a message arrived. */
        DeliverySurface: "run_once" | "cli_prompt" | "http_control_prompt" | "http_callback_wake" | "timer_scheduler" | "runtime_system";
        /** @description A piece of text that the model is producing. Deltas are sent only on streams; they are not stored and have no id. The events and the transcript that follow contain the complete text. A new attempt starts from the beginning. */
        Delta: {
            /** @description The agent whose model produces the text. */
            agent_id: string;
            /** @description The number of the model request in the run, starting at 0. Text of a greater number replaces all earlier text. */
            attempt: number;
            /** @description The number of the piece within the request, starting at 0. */
            chunk: number;
            /** @description The run that the text belongs to. */
            run_key: string;
            /** @description The text of the piece. */
            text: string;
        };
        /** @description The category of a denial. The set is closed; a denial may carry a finer code beside it. */
        DenialCategory: "out_of_scope" | "confirmation_required" | "budget_exceeded" | "unsafe_target" | "disallowed_provider_model" | "privacy_confirmation_required" | "secret_unavailable" | "overshared_payload_blocked";
        /** @description A SHA-256 hash in lower-case hex digits. */
        Digest: string;
        /** @description The runs to dismiss. */
        DismissAttention: {
            /** @description The keys of the runs. */
            run_keys: string[];
        };
        /** @description The changes to a schedule. Fields that are left out do not change. */
        EditSchedule: {
            /** @description Whether missed firings are caught up. */
            allows_catch_up?: boolean | null;
            /** @description Whether the schedule wakes the agent even if nothing changed. */
            always?: boolean | null;
            /**
             * @description Remove the event. Cannot be combined with `event`.
             * @default false
             */
            clear_event?: boolean;
            /**
             * @description Remove the guard. Cannot be combined with `guard`.
             * @default false
             */
            clear_guard?: boolean;
            /** @description How a firing is handled while the previous one is in progress. */
            concurrency?: components["schemas"]["Concurrency"] | null;
            /** @description The event that fires the schedule in addition to its pattern. */
            event?: string | null;
            /** @description A predicate that must be true for a firing to wake the agent. */
            guard?: components["schemas"]["ScheduleGuard"] | null;
            /** @description The label that people see. */
            label?: string | null;
            /** @description The message that a firing delivers to the agent. */
            message?: string | null;
            /** @description When the schedule fires. */
            pattern?: components["schemas"]["SchedulePattern"] | null;
        };
        /** @description New terms of a subscription. Terms that are absent stay as they are. */
        EditSubscription: {
            /** @description Tokens that must all match; they replace the present ones. */
            all?: string[] | null;
            /** @description Tokens of which at least one must match; they replace the present ones. */
            any?: string[] | null;
            /**
             * @description Remove the guard. Cannot be combined with `guard`.
             * @default false
             */
            clear_guard?: boolean;
            /**
             * @description Remove the predicate. Cannot be combined with `predicate`.
             * @default false
             */
            clear_predicate?: boolean;
            /** @description How long nothing starts after a wake by this subscription, in milliseconds. */
            cooldown_ms?: number | null;
            /** @description How long changes are collected before they wake the agent, in milliseconds, counted from the first of them. */
            debounce_ms?: number | null;
            /** @description A predicate over the agent and the change. */
            guard?: components["schemas"]["Predicate"] | null;
            /** @description The instruction for the agent. */
            message?: string | null;
            /** @description A predicate over the changed record. */
            predicate?: components["schemas"]["Predicate"] | null;
        };
        /** @description Exchanges the code of a login link for a login. */
        EnterLogin: {
            /** @description The code of the login link. */
            code: string;
        };
        /** @description A link from the result of a call to an entity. */
        EntityLink: {
            /** @description The id of a record, or the path of a file. */
            entity_id: string;
            /** @description The kind of the entity, such as `task` or `file`. */
            entity_type: string;
            /** @description What the call did to it. */
            relation: components["schemas"]["EntityRelation"];
        };
        /** @description How a result refers to an entity. */
        EntityRelation: "tool_effect";
        /** @description The kind of an entry, as the payload of a change unit. */
        EntryKind: "file" | "git_ref";
        /** @description A capability outside the journal. */
        EnvironmentCapability: "fileRead" | "fileWrite" | "commandRun" | "webRead" | "agentStart";
        /** @description The contents to erase, of a run or of a range of events, and the reason. Runs that are still open cannot be erased. */
        EraseContent: {
            /** @description The sequence number of the first event whose contents are erased. */
            first_seq?: number | null;
            /** @description The sequence number of the last event whose contents are erased. Defaults to `first_seq`. */
            last_seq?: number | null;
            /** @description The reason for the erasure. It is stored in the log. */
            reason: string;
            /** @description The run whose contents are erased: its transcript, its messages and the details of its events. Give either `run_key` or `first_seq`. */
            run_key?: string | null;
        } & ({
            first_seq?: null;
            last_seq?: null;
            run_key: string;
        } | {
            first_seq: number;
            run_key?: null;
        });
        /** @description The result of an erasure. */
        Erasure: {
            /** @description Number of removed audit entries. */
            audit_entries: number;
            /** @description Number of deleted blobs. Blobs that are referenced elsewhere are kept. */
            blobs: number;
            /**
             * @description Number of messages to the agent that were removed from the history of `wakeful chat`.
             * @default 0
             */
            chat_messages: number;
            /** @description Number of events whose payload was erased. */
            events: number;
            /** @description The event that records the erasure; absent if there was nothing left to erase. */
            seq?: number;
            /** @description Number of transitions whose input was erased. */
            transitions: number;
        };
        /** @description The body of every response that is not a success. */
        ErrorBody: {
            /** @description The error. */
            error: components["schemas"]["Problem"];
        };
        /** @description The error of an action as events and transcripts hold it. */
        ErrorEnvelope: {
            /** @description More about it: the invalid `field`, and what the tool adds. Large details are a `preview` with their size and digest. */
            details?: unknown;
            /** @description A stable code. */
            kind: string;
            /** @description One sentence. */
            message: string;
            /** @description How to fix it. */
            recovery_hint?: string;
            /** @description Whether the same call may succeed later. */
            retryable: boolean;
        };
        /** @description One event of one agent. */
        Event: {
            /** @description The agent whose log contains the event. */
            agent_id: string;
            /**
             * Format: date-time
             * @description When the event happened.
             */
            at: string;
            /** @description Whether the details were erased. */
            erased?: boolean;
            /** @description The event's id: the hash that chains it to all earlier events. */
            event_id: string;
            /** @description The version of the policy that was applied. */
            policy_version?: string;
            /** @description The text and style in which every interface shows the event. */
            presentation: components["schemas"]["Presentation"];
            /** @description The origin of the event, as far as it is known. */
            provenance: components["schemas"]["Provenance"];
            /** @description The run that the event belongs to. */
            run_key?: string;
            /** @description The sequence number in the agent's log, starting at 1 without gaps. */
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
            kind: "guardrail";
            payload: components["schemas"]["GuardrailTripped"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "hook_executed";
            payload: components["schemas"]["HookExecuted"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "connection_refused";
            payload: components["schemas"]["ConnectionRefused"];
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
            kind: "policy_changed";
            payload: components["schemas"]["PolicyChanged"];
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
            kind: "attention_dismissed";
            payload: components["schemas"]["AttentionDismissed"];
        } | {
            /** @constant */
            erased?: false;
            /** @constant */
            kind: "run_undone";
            payload: components["schemas"]["RunUndone"];
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
        /** @description Events of all public agents, oldest first. */
        EventFeed: {
            /** @description The cursor for the next page. Treat it as opaque: its contents may change. */
            cursor: string;
            /** @description The events. */
            events: components["schemas"]["Event"][];
            /** @description Whether more events follow. */
            has_more: boolean;
        };
        /** @description The result of raising an event. */
        EventFirings: {
            /** @description The name of the event. */
            event: string;
            /** @description The records of the firings, one per schedule, sorted by name. Empty if no schedule waits for the event. */
            executions: components["schemas"]["ScheduledExecution"][];
            /** @description The idempotency key of the event. */
            key: string;
        };
        /** @description How important an event is to a person, the most important first. */
        EventLevel: "action_required" | "work_done" | "turn_result" | "progress" | "trace";
        /** @description Events of one agent, oldest first. */
        EventPage: {
            /** @description The events. */
            events: components["schemas"]["Event"][];
            /** @description Whether more events follow. */
            has_more: boolean;
            /** @description The value of `after_seq` for the next page. */
            next_after_seq: number;
        };
        /** @description A sentence of untrusted text with what stands around it. */
        Evidence: {
            /** @description The text after the sentence. */
            after?: string;
            /** @description The text before the sentence, on one or several lines. */
            before?: string;
            /** @description Where the text came from. */
            source?: components["schemas"]["SourceRef"];
            /** @description The sentence that names the target, or the beginning of the text if no sentence does. */
            text: string;
        };
        /** @description The outcome of a firing, or a change of the schedule itself. */
        ExecutionOutcome: "run" | "skipped" | "replaced" | "refused" | "disabled" | "expired" | "recomputed" | "unreadable";
        /** @description Why a firing did not become a run, or why a schedule ended. */
        ExecutionReason: components["schemas"]["ScheduleReason"] | components["schemas"]["WakeOutcome"];
        /** @description The call to explain. */
        ExplainCall: {
            /**
             * @description The tool's arguments.
             * @default null
             */
            input?: unknown;
            /** @description Whether the call is made in a read-only run. */
            is_read_only?: boolean;
            /** @description The tool. */
            tool: string;
        };
        /** @description A command as policies see it. */
        ExplainedCommand: {
            /** @description Whether it is one program with plain words. */
            is_simple: boolean;
            /** @description Its program; empty if the command is not simple. */
            program: string;
            /** @description The command. */
            text: string;
        };
        /** @description What was decided about one target of a call. */
        ExplainedTarget: {
            /** @description The verdict on it. */
            effect: components["schemas"]["PolicyEffect"];
            /** @description Errors of evaluation. */
            errors?: string[];
            /** @description The policies that determine the verdict. */
            policies: string[];
            /** @description The rule that decided. */
            rule: string;
            /** @description The target with its facts; `call` for a call without targets. */
            target: string;
        };
        /** @description The secret URL through which external systems wake an agent. Anyone who has the URL can wake the agent. */
        ExternalTrigger: {
            /**
             * Format: date-time
             * @description When the trigger was created.
             */
            created_at: string;
            /** @description How a delivery is handled. */
            delivery_mode: components["schemas"]["DeliveryMode"];
            /** @description The trigger's id. */
            external_trigger_id: string;
            /**
             * Format: date-time
             * @description When the newest delivery was accepted.
             */
            last_triggered_at?: string;
            /** @description Whether the trigger accepts deliveries. */
            status: components["schemas"]["ExternalTriggerStatus"];
            /** @description The agent that the trigger wakes. */
            target_agent_id: string;
            /** @description The number of accepted deliveries. */
            trigger_count: number;
            /** @description The path to POST to, below the daemon's address. Absent while the trigger is revoked. Keep it secret. */
            trigger_path?: string;
        };
        /** @description Whether an external trigger accepts deliveries. */
        ExternalTriggerStatus: "active" | "revoked";
        /** @description The stored description of a failure: bounded in size, without raw logs or secrets. */
        FailureArtifact: {
            /** @description The stage at which it failed. */
            category: components["schemas"]["FailureCategory"];
            /** @description A stable identifier of the failure, such as `script_exhausted`. */
            kind: string;
            /** @description Additional details. */
            metadata?: {
                [key: string]: string;
            };
            /** @description The requested model. */
            model_ref?: string;
            /** @description The provider, when one was involved. */
            provider?: string;
            /** @description The chain of error causes, outermost first. */
            source_chain?: string[];
            /** @description The HTTP status, when there was one. */
            status?: number;
            /** @description One sentence for a person. */
            summary: string;
        };
        /** @description The stage at which something failed. */
        FailureCategory: "transport" | "protocol" | "runtime" | "task" | "unknown";
        /** @description The phase in which a daemon failed. */
        FailurePhase: "startup" | "shutdown" | "runtime_turn";
        /**
         * @description How a run changed a file.
         * @enum {string}
         */
        FileChangeKind: "created" | "modified" | "deleted";
        /** @description Files that the tools of an agent may use. A folder includes everything in it. */
        FilesystemScope: {
            /** @description The workspace first, then the folders of the settings. */
            allowed_paths: components["schemas"]["AllowedPath"][];
            /** @description Paths that are excluded even below an allowed one: those of the settings, the home of Wakeful, and places of credentials. */
            denied_paths: string[];
        };
        /** @description What actions with untrusted data wrote in a folder. */
        FolderReview: {
            /** @description The files that they may have written and that were not changed since, at most 200. */
            files: components["schemas"]["UntrustedFile"][];
            /** @description The path. */
            folder: string;
            /** @description Whether there are more files. */
            is_truncated: boolean;
            /**
             * Format: date-time
             * @description When the files were listed.
             */
            listed_at: string;
            /** @description The number of actions. Several may count as one. */
            untrusted_actions: number;
        };
        /** @description Why the rule `foreign_target` stopped a call. */
        ForeignTargetExplanation: {
            /** @description What would have to differ. Each of these is enough. */
            changes: string[];
            /** @description The untrusted data that the run had read. */
            sources: string[];
            /** @description What only untrusted data can have named. */
            targets: string[];
        };
        /** @description How calls with a foreign target are handled: calls of a run that has read untrusted data, which act outside its workspace on something that neither the operator nor a trusted file named. */
        ForeignTargetPolicy: "ask" | "allow" | "deny";
        /** @description One check before a wake and its result. Gates are recorded in the order of evaluation. */
        Gate: {
            /** @description What was found, if the result needs an explanation. */
            detail?: string;
            /** @description The name of the check. */
            gate: string;
            passed: boolean;
        };
        /** @description The stages of a call's path, in their order. */
        GateStage: "validate" | "scope" | "wake_reason" | "policy" | "quota" | "hooks" | "escalation" | "decision" | "sandbox" | "execute" | "record";
        /** @description What a guardrail does when it trips. */
        GuardrailAction: "block" | "warn" | "log";
        /** @description What a guardrail reads. */
        GuardrailPlace: "input" | "output" | "tool";
        /** @description The guardrails of an agent. */
        GuardrailPolicy: {
            /** @description Guardrails for messages to the agent. */
            input_guardrails?: components["schemas"]["GuardrailSpec"][];
            /** @description Guardrails for the text of the model. */
            output_guardrails?: components["schemas"]["GuardrailSpec"][];
            /** @description Guardrails for tool calls. */
            tool_guardrails?: components["schemas"]["GuardrailSpec"][];
        };
        /** @description One guardrail. It trips if it applies to the call and the text contains one of its phrases. */
        GuardrailSpec: {
            /** @description What it does when it trips. */
            action: components["schemas"]["GuardrailAction"];
            /** @description What it is for. */
            description?: string;
            /** @description Its name, which is shown where it trips. */
            name: string;
            /** @description Phrases, compared without regard to case and to the amount of white space. Without phrases, a guardrail for tools trips at every call of its tools. */
            phrases?: string[];
            /** @description For a tool guardrail, the tools whose arguments it reads; all tools if it is empty. */
            tools?: string[];
        };
        /** @description A guardrail tripped. */
        GuardrailTripped: {
            /** @description What it does. */
            action: components["schemas"]["GuardrailAction"];
            /** @description What it is for. */
            description?: string;
            /** @description Its name. */
            guardrail: string;
            /** @description Id of the action, if it read a call. */
            operation_id?: components["schemas"]["OperationId"];
            /** @description What it read. */
            place: components["schemas"]["GuardrailPlace"];
            /** @description The tool of the call. */
            tool?: string;
        };
        /** @description The file that guidance was read from. */
        GuidanceKind: "agents_md" | "claude_md";
        /** @description What a guidance file belongs to. */
        GuidanceRoot: "agent" | "workspace";
        /** @description The health of the daemon process. */
        Health: {
            /** @description Always `ok`: a dead process does not respond. */
            status: components["schemas"]["HealthStatus"];
        };
        /** @description The health of a process that responds. */
        HealthStatus: "ok";
        /** @description A condition that keeps queued work of an agent from starting. */
        Hold: {
            /** @description The code of the hold. */
            code: components["schemas"]["HoldCode"];
            /** @description What to change to end the hold. */
            hint?: string;
            /** @description A description of the hold in one sentence. */
            message: string;
            /**
             * Format: date-time
             * @description When the hold ends without intervention. Absent if a person must act.
             */
            until?: string;
        };
        /** @description The stable code of a hold. */
        HoldCode: components["schemas"]["WakeOutcome"] | components["schemas"]["DelayKind"] | components["schemas"]["WaitKind"] | components["schemas"]["ModelHold"];
        /** @description The moment at which a hook runs. */
        HookEvent: "SessionStart" | "UserPromptSubmit" | "PreToolUse" | "PostToolUse" | "PermissionDenied" | "Stop";
        /** @description A hook ran. */
        HookExecuted: {
            /** @description The provider's id of the call. */
            call_id?: string;
            /** @description Duration in milliseconds. */
            duration_ms: number;
            /** @description Beginning of its command, or its address. */
            hook: string;
            /** @description The event of the hook. */
            hook_event: components["schemas"]["HookEvent"];
            /** @description Id of the action, if it had one when the hook ran. */
            operation_id?: components["schemas"]["OperationId"];
            /** @description The reason that it gave, or the error. */
            reason?: string;
            /** @description What it led to. */
            result: components["schemas"]["HookResult"];
            /** @description The file that defines it. */
            source: string;
            /** @description The tool of the call. */
            tool?: string;
        };
        /** @description A hook in force. */
        HookRecord: {
            /** @description When it runs. */
            event: components["schemas"]["HookEvent"];
            /** @description The command or the address. */
            hook: string;
            /** @description `command` or `http`. */
            kind: string;
            /** @description The tools for which it runs; empty for all. */
            matcher: string;
            /** @description The file that defines it. */
            source: string;
            /** @description The time that it may take, in milliseconds. */
            timeout_ms: number;
        };
        /** @description What a hook led to. */
        HookResult: "passed" | "asked" | "changed" | "blocked" | "failed";
        /** @description How a host relates to the agent's lists of hosts. */
        HostScope: "allowed" | "unlisted" | "private" | "denied";
        /** @description How a person confirmed a provider implicitly. */
        ImpliedChannel: "operator_run";
        /** @description A host and its incarnation, which changes when a device is restored or cloned, so that names are never reused. */
        Incarnation: string;
        /** @description Why the full arguments of an action are not available. */
        InputGone: "erased" | "pruned" | "unreadable";
        /** @description Which causes may wake an agent. */
        InteractionMode: "autonomous" | "interactive" | "hybrid";
        /** @description A category of tasks. */
        JournalCategory: {
            /** @description The category's id: 32 hex digits. */
            category_id: string;
            /**
             * Format: date-time
             * @description When the category was created.
             */
            created_at: string;
            /** @description The name that people see. */
            name: string;
        };
        /** @description A list of categories. */
        JournalCategoryList: {
            /** @description The categories, sorted by name. */
            categories: components["schemas"]["JournalCategory"][];
        };
        /** @description One record that a committed transaction wrote. Changes of one transaction have the same `seq`. */
        JournalChange: {
            /**
             * Format: date-time
             * @description When the change was committed.
             */
            at: string;
            /** @description The author of the change: `person`, or `agent:` followed by a name. */
            author: string;
            /** @description The number of the transaction on that host. */
            counter: number;
            /** @description The host that wrote the record, including its incarnation. */
            host: string;
            /** @description The kind of record. */
            kind: components["schemas"]["JournalChangeKind"];
            /** @description The operation that made the change. */
            operation_id: string;
            /** @description The id of the record. */
            record_id: string;
            /** @description The sequence number of the transaction. */
            seq: number;
            /** @description The tokens that subscriptions match. */
            tokens: string[];
        };
        /** @description The type of a changed record. */
        JournalChangeKind: components["schemas"]["RecordKind"] | components["schemas"]["EntryKind"];
        /** @description A list of committed changes, in complete transactions. */
        JournalChangeList: {
            /** @description The changes, oldest first. */
            changes: components["schemas"]["JournalChange"][];
            /** @description The sequence number of the newest transaction. */
            last_seq: number;
        };
        /** @description A record of any kind, as one flat object. Predicates are evaluated on this object. The additional fields depend on the kind; fields without a value are left out. */
        JournalRecord: {
            /**
             * Format: date-time
             * @description When the record was created.
             */
            created_at: string;
            /** @description The record's id: 32 hex digits. */
            id: string;
            /** @description The kind of record. */
            kind: components["schemas"]["RecordKind"];
            /** @description Whether the record was deleted. A deleted record can be restored. */
            removed: boolean;
            /** @description The number of writes to the record. */
            version: number;
        } & {
            [key: string]: unknown;
        };
        /** @description A list of records. */
        JournalRecordList: {
            /** @description The records. */
            records: components["schemas"]["JournalRecord"][];
        };
        /** @description A write to the journal. */
        JournalWrite: {
            /** @description The category to rename. */
            category_id: string;
            /** @constant */
            kind: "rename_category";
            /** @description The new name. */
            name: string;
        } | {
            /**
             * @description The items, in order.
             * @default []
             */
            items?: string[];
            /** @constant */
            kind: "create_checklist";
            /** @description The task that the checklist belongs to. */
            task_id: string;
            /** @description The title, in one line. */
            title: string;
        } | {
            /** @description The checklist to append to. */
            checklist_id: string;
            /** @description The items, in order. */
            items: string[];
            /** @constant */
            kind: "add_items";
        } | {
            /** @description Whether the item is done. */
            checked?: boolean | null;
            /** @description The item to change. */
            item_id: string;
            /** @constant */
            kind: "update_item";
            /** @description The new text, in one line. */
            text?: string | null;
        } | {
            /** @description The checklist to reorder. */
            checklist_id: string;
            /** @description The ids of all items in the new order, each once. */
            items: string[];
            /** @constant */
            kind: "order_items";
        } | {
            /** @description A description of the work. */
            description?: string | null;
            /** @constant */
            kind: "start_time";
            /** @description The task that the time is spent on. */
            task_id: string;
        } | {
            /** @constant */
            kind: "stop_time";
            /** @description The time entry to stop. */
            time_entry_id: string;
        } | {
            /** @description A description of the work. */
            description?: string | null;
            /**
             * Format: date-time
             * @description When the time entry ended.
             */
            ended_at: string;
            /** @constant */
            kind: "add_time";
            /**
             * Format: date-time
             * @description When the time entry started.
             */
            started_at: string;
            /** @description The task that the time was spent on. */
            task_id: string;
        } | {
            /** @description A description of the work. */
            description?: string | null;
            /**
             * Format: date-time
             * @description When the time entry ended.
             */
            ended_at?: string | null;
            /** @constant */
            kind: "update_time";
            /**
             * Format: date-time
             * @description When the time entry started.
             */
            started_at?: string | null;
            /** @description The time entry to change. */
            time_entry_id: string;
        } | {
            /**
             * Format: date
             * @description The day of the plan.
             */
            date: string;
            /**
             * @description The ids of blocks to delete.
             * @default []
             */
            deletes?: string[];
            /** @constant */
            kind: "write_day_plan";
            /** @description A note about the day. If absent, it does not change. */
            note?: string | null;
            /**
             * @description The blocks to create or replace.
             * @default []
             */
            upserts?: components["schemas"]["DayPlanBlockWrite"][];
        } | ({
            /**
             * Format: date
             * @description The day to rate.
             */
            date?: string | null;
            /** @constant */
            kind: "rate";
            /** @description A note about the rating. */
            note?: string | null;
            /** @description The record to rate. */
            record_id?: string | null;
            /** @description The name of the scale. */
            scale: string;
            /** @description The upper end of the scale. Defaults to 5. */
            scale_max?: number | null;
            /** @description The rating, from 1 to `scale_max`. */
            value: number;
        } & ({
            date?: null;
            record_id: string;
        } | {
            date: string;
            record_id?: null;
        })) | {
            /** @description The record at which the link starts. */
            from_id: string;
            /** @constant */
            kind: "create_link";
            /** @description The kind of link: `relates_to`, `blocks`, `follows`, `part_of`, `derived_from`, `duplicates`, or `namespace:name`. */
            link_kind: string;
            /** @description The record to which the link points. */
            to_id: string;
        } | {
            /** @constant */
            kind: "remove";
            /** @description When deleting a category: the category that receives its tasks. Required if the category is in use. */
            move_to?: string | null;
            /** @description The record to delete. */
            record_id: string;
        } | {
            /** @constant */
            kind: "restore";
            /** @description The record to restore. */
            record_id: string;
        };
        /** @description The newest failure, kept after the failed operation has ended. */
        LastFailure: {
            /** @description Where to find details. */
            detail_hint: string;
            /**
             * Format: date-time
             * @description When the failure occurred.
             */
            occurred_at: string;
            /** @description The phase in which the failure occurred. */
            phase: components["schemas"]["FailurePhase"];
            /** @description A description of the failure in one sentence. */
            summary: string;
        };
        /** @description The lifecycle of an agent. The order resolves concurrent writes: the greatest value wins. */
        Lifecycle: "active" | "created" | "dormant" | "destroyed";
        /** @description The id of a limit. Derived from what it limits, so that there is at most one of each. */
        LimitId: components["schemas"]["Digest"];
        /** @description A guidance file of an agent. */
        LoadedAgentsMd: {
            /** @description The kind of guidance file. */
            kind: components["schemas"]["GuidanceKind"];
            /** @description The path of the file. */
            path: string;
            /** @description Whether the file belongs to the agent or to the workspace. */
            root: components["schemas"]["GuidanceRoot"];
        };
        /** @description A model server that was found on this machine. */
        LocalProvider: {
            /** @description The base URL. */
            base_url: string;
            /** @description References of the models that the server has; at most 1000. */
            models: string[];
            /** @description The name of the built-in provider that has this address. */
            provider: string;
        };
        /** @description A browser that is logged in. */
        Login: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            /** @description The login's id, which is not a secret. */
            id: string;
            /** @description Whether the current request uses this login. */
            is_current: boolean;
            /**
             * Format: date-time
             * @description When the browser last sent a request, accurate to one hour.
             */
            last_used_at: string;
            /** @description The name of the browser, as far as it identified itself. */
            name: string;
        };
        /** @description A new login. The response header contains the cookie. */
        LoginGrant: {
            /** @description The login token. The page stores it in its origin's storage and sends it as `X-Wakeful-Token` with the cookie. It is not shown again. */
            token: string;
        };
        /** @description A link that logs a browser in once. */
        LoginLink: {
            /**
             * Format: date-time
             * @description When the link expires.
             */
            expires_at: string;
            /** @description The URL to open in a browser. The code is in the fragment, which browsers do not send to servers. */
            url: string;
        };
        /** @description The browsers that are logged in, newest first; at most 64. */
        LoginList: {
            logins: components["schemas"]["Login"][];
        };
        /** @description A file on the daemon's machine that opens a login link in a browser. */
        LoginPage: {
            /**
             * Format: date-time
             * @description When the link in the file expires.
             */
            expires_at: string;
            /** @description The path of the file. Only the user that runs the daemon can read it; it is deleted when the link is used or expires. */
            path: string;
        };
        /** @description A message entered the queue. */
        MessageAdmitted: {
            /** @description Authority of the message, derived at admission. */
            authority: components["schemas"]["Authority"];
            /** @description Causation: the direct predecessor of the message. */
            causation_id?: components["schemas"]["TraceId"];
            /** @description How the sender was authenticated. */
            context: components["schemas"]["AdmissionContext"];
            /** @description Correlation: the chain of causes that the message belongs to. */
            correlation_id?: components["schemas"]["TraceId"];
            /** @description Kind of the message. */
            kind: components["schemas"]["MessageKind"];
            /**
             * @description Kind of the message's origin.
             * @default operator
             */
            origin: components["schemas"]["OriginKind"];
            /**
             * @description Priority in the queue.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description Key of the message and of the run it requests. */
            run_key: components["schemas"]["RunKey"];
            /** @description Ids that the origin refers to, keyed by what they identify. */
            source_refs?: {
                [key: string]: string;
            };
            /** @description Interface through which the message arrived. */
            surface: components["schemas"]["DeliverySurface"];
            /** @description Beginning of the text. */
            text: string;
        };
        /** @description The kind of cause. */
        MessageKind: "operator_prompt" | "notice" | "timer_tick" | "hint" | "internal_followup";
        /** @description An amount of money in millionths of a dollar. */
        MicroUsd: number;
        /** @description A model that a person can choose. */
        ModelChoice: {
            /** @description The price of a million request tokens in US dollars. Absent if requests are free. */
            input_usd?: string;
            /** @description Whether runs that name no model use it. */
            is_default: boolean;
            /** @description Whether the price is assumed, because it is neither listed nor configured. */
            is_price_assumed: boolean;
            /** @description Whether it can be used now: its key is available. */
            is_usable: boolean;
            /** @description The kind of model. */
            kind: components["schemas"]["ModelChoiceKind"];
            /** @description The reference: `PROVIDER/MODEL`, `route:NAME`, `scripted:FILE` or `demo`. */
            model_ref: string;
            /** @description The price of a million reply tokens in US dollars. Absent if requests are free. */
            output_usd?: string;
        };
        /** @description The kind of a model that a person can choose. */
        ModelChoiceKind: "hosted" | "route" | "scripted" | "demo";
        /** @description Whether the same request may be sent again. */
        ModelFailureKind: "retryable" | "fail_fast";
        /** @description Why the model of an agent's next run cannot be used. */
        ModelHold: "key_missing";
        /** @description A model provider. It contains no key. */
        ModelProvider: {
            /** @description The base URL. */
            base_url: string;
            /** @description The model that is used if only the provider is chosen. */
            default_model?: string;
            /** @description Whether a key is available now. */
            has_key: boolean;
            /** @description Whether the provider works without settings. */
            is_built_in: boolean;
            /** @description Whether the server is on this machine. */
            is_local: boolean;
            /** @description Where the key is stored: `env:NAME`, `file:/PATH`, `keyring:SERVICE/ACCOUNT` or `none`. Absent if no place is configured. */
            key_handle?: string;
            /** @description The wire format. */
            kind: string;
            /** @description The known models of the provider, without a request to it. */
            models: components["schemas"]["ModelChoice"][];
            /** @description The name, which is the part of a model reference before the slash. */
            name: string;
            /** @description Whether requests need a key. */
            needs_key: boolean;
            /** @description Why the provider cannot be used now, and what to do. */
            problem?: string;
        };
        /** @description Where an agent's model was chosen. */
        ModelSource: "runtime_default" | "agent_override";
        /** @description Hosts that the tools of an agent may connect to. */
        NetworkScope: {
            /** @description `HOST`, `HOST:PORT`, `*.DOMAIN` or `packages`. */
            allowed_hosts: string[];
            /** @description Hosts that are excluded even if a pattern allows them. Private addresses always are, unless they are named. */
            denied_hosts: string[];
        };
        /** @description The next firing of a schedule and the outcome of its previous one. */
        NextFiring: {
            /** @description The outcome of the previous firing, such as `run`, `skipped` or `refused`, and its reason. */
            last_outcome?: string;
            /**
             * Format: date-time
             * @description The nominal time of the next firing. Absent if there is none.
             */
            next_at?: string;
            /** @description The schedule's name. */
            schedule_id: string;
            /** @description The status of the schedule. */
            status: components["schemas"]["ScheduleStatus"];
        };
        /** @description What a person can do about a run that did not succeed. */
        NextStep: "retry" | "change_model" | "check_provider" | "new_conversation" | "raise_cap" | "resume" | "abandon";
        /** @description Files and folders of a workspace that a snapshot does not cover. */
        NotCovered: {
            /** @description The number of entries. An ignored folder counts once. */
            count: number;
            /** @description The first of them, with the reason. */
            first: components["schemas"]["UncoveredEntry"][];
        };
        /** @description Why a brake or cancellation that is in force is not stored in the database yet. */
        NotDurable: {
            /** @description The error code, such as `disk_full`, `database_unreachable` or `database_slow`. */
            code: string;
            /** @description Whether the request is stored in the home folder and therefore survives a restart. */
            is_saved: boolean;
            /** @description A description of the error in one sentence. */
            message: string;
        };
        /** @description A note. */
        Note: {
            /**
             * Format: date-time
             * @description When the note was created.
             */
            created_at: string;
            /** @description The note's id: 32 hex digits. */
            note_id: string;
            /** @description The task that the note is about. */
            task_id?: string;
            /** @description The text of the note. */
            text: string;
        };
        /** @description A list of notes. */
        NoteList: {
            /** @description The notes, newest first. */
            notes: components["schemas"]["Note"][];
        };
        /** @description The id of one action of one run. External systems that deduplicate requests receive this id. */
        OperationId: components["schemas"]["Digest"];
        /** @description The kind of a message's origin. */
        OriginKind: "operator" | "subscription" | "schedule" | "trigger" | "run";
        /** @description An action that a limit stops before it begins. */
        ParkedAction: {
            /** @description Id of the action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The tool that the action uses. */
            tool: string;
        };
        /** @description Why a run waits for budget. */
        ParkedReason: {
            /** @description The code, always `budget_exceeded`. */
            code: string;
            /** @description The command that raises the limit. */
            command: string;
            /**
             * @description What to do.
             * @default
             */
            hint: string;
            /** @description The id of the limit. Absent for a daily cap on money. */
            limit_id?: string;
            /** @description The limit, in the smallest unit of the resource. */
            max: number;
            /**
             * @description Why the step does not start, in one sentence.
             * @default
             */
            message: string;
            /** @description What the next step may use at most. */
            needed: number;
            /** @description The period of the limit. */
            period: components["schemas"]["BudgetPeriod"];
            /** @description What the limit counts. */
            resource: components["schemas"]["BudgetResource"];
            /** @description The scope of the exceeded limit. */
            scope: components["schemas"]["BudgetScope"];
            /**
             * Format: date-time
             * @description When the period ends, and the run continues by itself. Absent if only a person can let it continue.
             */
            until?: string;
            /** @description What was used and reserved in the period when the run was parked. */
            used: number;
        };
        /**
         * @description What a call does with a path.
         * @enum {string}
         */
        PathAccess: "read" | "write";
        /** @description Where a path is, in relation to what the agent may reach. */
        PathScope: "workspace" | "protected" | "temporary" | "granted" | "outside" | "denied";
        /** @description A cancellation that is in force and not stored in the database yet. */
        PendingCancel: {
            /** @description Why the cancellation is not stored yet. */
            not_durable: components["schemas"]["NotDurable"];
            /** @description The run that is cancelled. */
            run_key: string;
        };
        /** @description How much an agent may do without a person. */
        PermissionMode: "permissive" | "standard" | "restrictive";
        /** @description A single change after which the verdict is less strict. */
        PolicyAlternative: {
            /** @description What would have to differ. */
            change: string;
            /** @description The verdict then. */
            effect: components["schemas"]["PolicyEffect"];
        };
        /** @description The policy files in force for the agent changed since the last decision. */
        PolicyChanged: {
            /** @description The files in force now, those for all agents first. */
            files: components["schemas"]["PolicyFileHash"][];
            /** @description Whether a refused file has no earlier version, so that nothing is permitted. */
            is_incomplete?: boolean;
            /** @description The version of the files in force now; absent if there are none any more. */
            new_version?: string;
            /** @description The version of the files by which calls were judged before; absent if there were none. */
            old_version?: string;
        };
        /** @description The policy decided on one action. */
        PolicyDecided: {
            /** @description The category of the denial, if it was denied. */
            category?: components["schemas"]["DenialCategory"];
            /** @description Stable code of the refusal. */
            code?: string;
            /** @description The verdict. */
            effect: components["schemas"]["PolicyEffect"];
            /** @description Beginning of the tool's arguments. */
            input: string;
            /** @description Id of the action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description Why: for an excluded target, the path or host and the entry of the list that excludes it. */
            reason?: string;
            /** @description The rule that decided. */
            rule: string;
            /** @description The stage at which the action stopped, if it must not start. */
            stage?: components["schemas"]["GateStage"];
            /** @description Result of the action, if it must not start. */
            status?: components["schemas"]["StepStatus"];
            /** @description The steps of the decision, in order, and the branch that the action takes. */
            steps?: components["schemas"]["DecisionStep"][];
            /** @description What the action acts on, as the verdict judged it. */
            targets?: components["schemas"]["Target"][];
            /** @description The tool that the action uses. */
            tool: string;
        };
        /** @description Whether an action may be performed. */
        PolicyEffect: "permit" | "ask" | "deny";
        /** @description The verdict on a call, with what led to it. */
        PolicyExplanation: {
            /** @description The agent. */
            agent_id: string;
            /** @description The single changes that make the verdict less strict. */
            alternatives: components["schemas"]["PolicyAlternative"][];
            /** @description The category, if the call is denied. */
            category?: components["schemas"]["DenialCategory"];
            /** @description The command of the call, if it has one. */
            command?: components["schemas"]["ExplainedCommand"];
            /** @description The verdict. */
            effect: components["schemas"]["PolicyEffect"];
            /** @description For a recorded call that the rule `foreign_target` stopped: what it acts on, and what would have to differ. */
            foreign_targets?: components["schemas"]["ForeignTargetExplanation"];
            /** @description The permission mode of the agent. */
            mode: components["schemas"]["PermissionMode"];
            /** @description For a recorded call: how today's verdict differs from the recorded one. Absent if it does not. */
            note?: string;
            /** @description The version of everything that the verdict depends on. */
            policy_version: string;
            /** @description What the rule says; the rule's own text of `@ask` for a policy that a person wrote. */
            reason: string;
            /** @description The recorded verdict, for a recorded call. */
            recorded?: components["schemas"]["RecordedVerdict"];
            /** @description The rule that decided. */
            rule: string;
            /** @description The stage at which the call stops, if it is denied or its arguments are invalid. */
            stage?: components["schemas"]["GateStage"];
            /** @description What was decided about each target, or about the call if it has none. */
            targets: components["schemas"]["ExplainedTarget"][];
            /** @description The tool. */
            tool: string;
        };
        /** @description A policy file in force. */
        PolicyFileHash: {
            /** @description Its name as in verdicts: `main.cedar`, or `agent/main.cedar` for a file of the agent. */
            file: string;
            /** @description The hash of its content. */
            sha256: components["schemas"]["Digest"];
        };
        /** @description Why a policy file or a hook file is refused. */
        PolicyFileProblem: {
            /** @description The file. */
            file: string;
            /** @description The line. */
            line: number;
            /** @description The reason. */
            message: string;
        };
        /** @description One policy in force. */
        PolicyRecord: {
            /** @description What it does when it matches: `permit`, `ask` or `forbid`. */
            kind: string;
            /** @description The line on which it begins. Absent for a policy that follows from settings. */
            line?: number;
            /** @description Its name in verdicts. */
            rule: string;
            /** @description The file, or `settings`. */
            source: string;
            /** @description Its Cedar text. */
            text: string;
        };
        /** @description The version of the policy under which a verdict was reached. */
        PolicyVersion: string;
        /** @description A predicate over a changed record. */
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
        /** @description The presentation of an event. It does not control access: everyone who may read an event may read all of it. */
        Presentation: {
            /** @description Further text, if there is any. */
            body?: string;
            /** @description What the event is about. */
            category: components["schemas"]["EventCategory"];
            /** @description Kind of the presented event. */
            source_event_kind: string;
            /** @description One line for lists. */
            summary: string;
            /** @description A short heading. */
            title: string;
            /** @description How important the event is to a person. */
            visibility: components["schemas"]["EventLevel"];
        };
        /** @description The order of a message in its queue. It never affects trust. */
        Priority: "interject" | "next" | "normal" | "background";
        /** @description A confirmation that a provider may receive agents' work. */
        PrivacyReceipt: {
            /**
             * Format: date-time
             * @description When the confirmation was given.
             */
            at: string;
            /** @description The channel through which the confirmation was given. */
            channel: components["schemas"]["ReceiptChannel"];
            /** @description The policy version that was confirmed. Another version needs a new confirmation. */
            policy_version: string;
            /** @description The name of the provider. */
            provider: string;
        };
        /** @description What is wrong, and what to do about it. */
        Problem: {
            /** @description A stable code for programs. */
            code: string;
            /** @description What to do about it. */
            hint: string;
            /** @description One sentence for a person. */
            message: string;
        };
        /** @description The origin of an event, as far as its payload contains it. */
        Provenance: {
            /** @description Authority of the message. */
            authority?: string;
            /** @description Causation of the message, or else the operation that caused the event. */
            causation_id?: string;
            /** @description How the sender was authenticated. */
            context?: string;
            /** @description Correlation of the message, or else the run. */
            correlation_id?: string;
            /** @description Key of the message that caused the event. */
            message_id?: string;
            /** @description Interface through which the message arrived. */
            surface?: string;
        };
        /** @description The wire format of a provider. */
        ProviderKind: "anthropic" | "openai" | "openai-chat" | "openai-codex" | "gemini";
        /** @description A model request ended. */
        ProviderRoundCompleted: {
            /**
             * @description Whether this failure advanced the run to the next model of its route.
             * @default false
             */
            advanced_to_fallback: boolean;
            /** @description The number of this attempt with this model, starting at 1. */
            attempt: number;
            /** @description The backoff after this attempt, in milliseconds. */
            backoff_ms?: number;
            /** @description The cost. Absent if the attempt was free. */
            cost?: components["schemas"]["MicroUsd"];
            /** @description Whether a retry is useful: `retryable` or `fail_fast`. */
            disposition?: components["schemas"]["ModelFailureKind"];
            /** @description Duration from the request to its reply or failure. The backoff before the request is not included. */
            duration_ms: number;
            /** @description The kind of failure, if it failed. */
            failure_kind?: string;
            /** @description The maximum number of attempts with this model. */
            max_attempts: number;
            /** @description The requested model. */
            model_ref: string;
            /** @description Result of the attempt. */
            outcome: components["schemas"]["AttemptOutcome"];
            /** @description The provider of the model. */
            provider: string;
            /** @description Number of the round, from 0. */
            round: number;
            /** @description The rule that allowed the request. */
            rule?: string;
            /** @description Token counts, as far as the provider reported them. */
            token_usage?: components["schemas"]["Usage"];
            /** @description Details of the HTTP exchange. */
            transport_diagnostics?: components["schemas"]["TransportDiagnostics"];
        };
        /** @description The result of a test. */
        ProviderTest: {
            /** @description The code of the problem: `key_refused`, `key_missing`, `model_unknown`, or the code of a failed model request. */
            code?: string;
            /** @description How long the test took, in milliseconds. */
            duration_ms: number;
            /** @description What to do, if there is a problem. */
            hint?: string;
            /** @description Whether the provider can be used. */
            is_ok: boolean;
            /** @description The result in one sentence. */
            message: string;
            /** @description References of the models that the provider lists; at most 1000. */
            models: string[];
        };
        /** @description A quarantined run was resumed or abandoned. */
        QuarantineResolved: {
            /** @description Key of the run. */
            run_key: components["schemas"]["RunKey"];
            /** @description The new status of the run. */
            status: components["schemas"]["RunStatus"];
        };
        /** @description A queued message. */
        QueuedMessage: {
            /**
             * Format: date-time
             * @description When the message was stored.
             */
            admitted_at: string;
            /** @description The beginning of the message. */
            preview: string;
            /**
             * @description The priority in the queue.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description The key of the run that will handle the message. */
            run_key: string;
            /** @description The sequence number of the event that recorded the message. It orders messages of equal priority. */
            seq: number;
            /** @description The conversation that the message belongs to. Absent if no person sent it. */
            thread?: string;
        };
        /** @description A queued message. */
        QueuedWake: {
            /** @description The cause. */
            cause: components["schemas"]["WakeCause"];
            /**
             * Format: date-time
             * @description The message does not start before this time. Absent if it may start immediately.
             */
            not_before?: string;
            /**
             * Format: date-time
             * @description When the message was queued.
             */
            queued_at: string;
            /** @description The key of the run that the message will start. */
            run_key: string;
        };
        /** @description An event to raise. */
        RaiseEvent: {
            /** @description The idempotency key: a repeated event with the same key does not fire a schedule twice. The header `Idempotency-Key` does the same. */
            key?: string | null;
        };
        /** @description The readiness of a daemon. */
        Readiness: "recovering" | "ready" | "failing" | "stopping";
        /** @description Whether the daemon can serve requests. */
        ReadinessStatus: {
            /** @description The code of the storage error, while there is one. */
            code?: string;
            /** @description The readiness of the daemon. */
            status: components["schemas"]["Readiness"];
        };
        /** @description How a person confirmed a provider. */
        ReceiptChannel: components["schemas"]["Channel"] | components["schemas"]["ImpliedChannel"];
        /** @description The kinds of records. Agents' internal data has no kind here. */
        RecordKind: "category" | "task" | "note" | "checklist" | "checklist_item" | "time_entry" | "day_plan" | "day_plan_block" | "rating" | "link";
        /** @description The kind of records to list. */
        RecordListKind: "checklist" | "checklist_item" | "time_entry" | "day_plan" | "day_plan_block" | "rating" | "link" | "any";
        /** @description The verdict that was recorded with a call. */
        RecordedVerdict: {
            /** @description The recorded verdict; absent if its event was erased or deleted. */
            effect?: components["schemas"]["PolicyEffect"];
            /** @description The policy version under which it was judged. */
            policy_version?: string;
            /** @description Why, as it was recorded. */
            reason?: string;
            /** @description The rule that permitted or denied it, or the error. */
            rule: string;
            /** @description The status of the step. */
            status: components["schemas"]["StepStatus"];
            /** @description What the call acted on when it was judged. The explanation judges the same targets. */
            targets?: string[];
        };
        /** @description The number of refusals of one source for one reason on one day. */
        RefusalCount: {
            /** @description The code of the refusal. */
            code: components["schemas"]["WakeOutcome"];
            /** @description The number of refusals. */
            count: number;
            /**
             * Format: date
             * @description The day in UTC.
             */
            day: string;
            /** @description What to change so that the causes are accepted. */
            hint?: string;
            /**
             * Format: date-time
             * @description When the newest refusal happened.
             */
            last_at: string;
            /** @description A description of the refusal in one sentence. */
            message: string;
            /** @description The source of the refused causes. */
            source: string;
        };
        /** @description The brake to release. */
        ReleaseBrake: {
            /** @description The agent whose brake is released. If absent, the brake for all agents is released. */
            agent_id?: string | null;
        };
        /** @description The limits of an agent's tools. */
        ResourceLimits: {
            /** @description How many repeatable calls of one run are performed side by side. Others are performed one at a time. */
            max_concurrent_tools: number;
            /** @description The time that a tool may take, in milliseconds. `ExecCommand` has its own limit. */
            max_tool_execution_ms: number;
        };
        /** @description What to change when a run is run again. */
        RetryRun: {
            /** @description The operation id of a step of the run. The new run begins with the conversation before the model request that this step is or belongs to, and asks the model again. */
            from_step?: string | null;
            /** @description A message to add after that conversation. Only with `from_step`. */
            message?: string | null;
            /** @description Another model. */
            model?: string | null;
            /** @description Another text. Attachments and options are kept. Not with `from_step`. */
            text?: string | null;
        };
        /** @description The folder that was reviewed. */
        ReviewFolder: {
            /** @description The path of the folder. */
            folder: string;
            /**
             * Format: date-time
             * @description The time of the list that was reviewed (`listed_at`). What was written later stays untrusted.
             */
            listed_at: string;
        };
        /** @description The role of a transcript entry. */
        Role: "user" | "assistant" | "tool";
        /** @description The hash that ties one table row to the log. */
        RowBinding: {
            /** @description The row's key as text. */
            key: string;
            /** @description The hash of the columns that the log covers; `null` if the row was removed. */
            row_hash: components["schemas"]["Digest"] | null;
            /** @description Name of the table. */
            table: string;
        };
        /** @description Rows that the log covers changed. */
        RowsBound: {
            /** @description The hash of each changed row. */
            records: components["schemas"]["RowBinding"][];
        };
        /** @description A rule that wakes an agent: a subscription, a schedule or an external trigger. */
        RuleId: string;
        /** @description A run with all of its steps. */
        Run: {
            /** @description The agent of the run. */
            agent_id: string;
            /** @description The answer as JSON, if it had to fit a schema and the run completed. */
            answer?: unknown;
            /** @description The message that started the run. */
            cause?: components["schemas"]["RunCause"];
            /** @description The sub-runs that this run started on other agents. */
            children?: components["schemas"]["RunLink"][];
            /** @description The cost in dollars. Absent if the run cost nothing. */
            cost_usd?: string;
            /**
             * @description The steps of the run, counted.
             * @default {
             *       "denied": 0,
             *       "failed": 0,
             *       "model_rounds": 0,
             *       "tool_calls": 0,
             *       "unknown": 0
             *     }
             */
            counts: components["schemas"]["StepCounts"];
            /** @description The operation ids of calls that the policy denied. */
            denied: string[];
            /** @description The duration from start to end in milliseconds; 0 while the run is open. */
            duration_ms: number;
            /**
             * Format: date-time
             * @description When the run ended.
             */
            ended_at?: string;
            /** @description Whether a person erased the contents of the run. */
            erased?: boolean;
            /** @description Why the run did not succeed or cannot continue, and what to do. Absent if there is nothing to do. */
            explanation?: components["schemas"]["RunExplanation"];
            /** @description The details of the failure, if the run failed. */
            failure_artifact?: components["schemas"]["FailureArtifact"];
            /** @description Why the run is quarantined. */
            fault?: string;
            /** @description The text of the model's last reply. */
            final_text: string;
            /** @description The model of the run. */
            model?: string;
            /** @description The status: `open`, `queued`, `quarantined`, or how the run ended: `completed`, `failed`, `out_of_rounds`, `cancelled`, `abandoned`. */
            outcome: components["schemas"]["RunStatus"];
            /** @description The run that started this one and waits for its end. */
            parent?: components["schemas"]["RunLink"];
            /** @description Why the run waits for budget. Absent if it does not. */
            parked?: components["schemas"]["ParkedReason"];
            /** @description All attempts of the run's model rounds. */
            provider_attempt_timeline?: components["schemas"]["AttemptTimeline"];
            /** @description The runs that run this one again. */
            retried_by?: components["schemas"]["RunLink"][];
            /** @description The ended run that this one runs again. */
            retries?: components["schemas"]["RunLink"];
            /** @description The number of model replies. */
            rounds: number;
            /** @description The run's key. */
            run_key: string;
            /**
             * Format: date-time
             * @description When the run started.
             */
            started_at: string;
            /** @description All model rounds and tool calls, in order. */
            steps: components["schemas"]["Step"][];
            /** @description The conversation that the run belongs to. Absent if no person started the run. */
            thread?: string;
            /** @description The tokens used by the run. */
            token_usage: components["schemas"]["TokenUsage"];
            /** @description All tool calls, in order. */
            tool_calls: components["schemas"]["ToolCall"][];
            /** @description The operation ids of calls whose outcome is unknown. */
            unknown: string[];
            /** @description The code of the error that prevented reading the run's state. Only its stored rows are shown then. */
            unreadable?: string;
            /** @description What an open run waits for. Absent if it works or has ended. */
            waiting_for?: components["schemas"]["WaitingFor"];
            /** @description The folder in which the run's commands are executed. */
            workspace?: string;
        };
        /** @description The message that started a run, and all gates that it passed. */
        RunCause: {
            /** @description The run that absorbed the message, if it is a different one. */
            absorbed_by?: string;
            /**
             * Format: date-time
             * @description When the message was stored.
             */
            admitted_at: string;
            /** @description The authority of the message. */
            authority: components["schemas"]["Authority"];
            /** @description The direct cause: a run, a change, or an id that a sender gave. */
            causation_id?: string;
            /** @description How the sender was authenticated. */
            context: components["schemas"]["AdmissionContext"];
            /**
             * @description The id of the chain of causes: the key of its first cause, or an id that a sender gave.
             * @default
             */
            correlation_id: string;
            /** @description All gates that were checked, in order. */
            gates: components["schemas"]["Gate"][];
            /** @description The kind of message. */
            kind: components["schemas"]["MessageKind"];
            /**
             * @description The priority in the queue.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description The interface through which the message arrived. */
            surface: components["schemas"]["DeliverySurface"];
            /** @description The complete text of the message. */
            text: string;
            /** @description `run`, or the code of the refusal. Absent while the message is queued. */
            verdict?: components["schemas"]["WakeOutcome"];
        };
        /** @description The changes of a run. */
        RunChanges: {
            /** @description The unified diff, at most 256 KiB. Empty if only the list was requested. */
            diff: string;
            /** @description The changed files, by path: at most 1,000. */
            files: components["schemas"]["ChangedFile"][];
            /** @description The number of changed files. */
            files_total: number;
            /** @description Added lines in all text files. */
            lines_added: number;
            /** @description Removed lines in all text files. */
            lines_removed: number;
            /** @description What the snapshots do not cover. */
            not_covered: components["schemas"]["NotCovered"];
            /** @description Whether `diff` or `files` is incomplete. */
            truncated?: boolean;
            /** @description Why no changes can be shown although the run may have written. */
            unavailable?: string;
            /** @description Whether the run wrote and its last state is not recorded, so that the changes are those up to now. */
            until_now?: boolean;
            /** @description The workspace of the run. */
            workspace: string;
        };
        /** @description A run ended. */
        RunEnded: {
            /** @description Total cost; absent if the run was free. */
            cost_microusd?: components["schemas"]["MicroUsd"];
            /** @description Final status of the run. */
            outcome: components["schemas"]["RunStatus"];
            /** @description Number of model replies. */
            rounds: number;
            /** @description Key of the run, so that the event can be attributed without the run log. */
            run_key?: components["schemas"]["RunKey"];
            /** @description Token counts of all requests. */
            token_usage: components["schemas"]["Usage"];
        };
        /** @description Why a run did not succeed or cannot continue, in plain words. */
        RunExplanation: {
            /** @description The kind of the failure, or the status of the run. */
            code: string;
            /** @description The cause in one or two sentences. */
            message: string;
            /** @description What a person can do, the most useful step first. */
            next_steps: components["schemas"]["NextStep"][];
        };
        /** @description What holds the agent of an open run. */
        RunHold: "braked" | "paused";
        /** @description The key of a run. It is derived, because two replicas that receive the same cause must compute the same key, or the work is done twice. */
        RunKey: components["schemas"]["Digest"];
        /** @description What a run may use together with its sub-runs. A run that needs more waits until a person raises its limit. The limits are removed when the run ends. */
        RunLimits: {
            /** @description The cost of model requests in dollars, at most 1000000, with at most six decimals. */
            cost_usd?: string | null;
            /** @description The time that model requests and tool calls take, in milliseconds. */
            run_time_ms?: number | null;
            /** @description The tokens of requests and replies. */
            tokens?: number | null;
            /** @description The tool calls that start. */
            tool_calls?: number | null;
            /** @description The bytes that file tools and commands write to disk. */
            written_bytes?: number | null;
        };
        /** @description The parent or a sub-run of a run. */
        RunLink: {
            agent_id: components["schemas"]["AgentId"];
            /** @description What holds its agent, if anything. */
            held?: components["schemas"]["RunHold"];
            run_key: components["schemas"]["RunKey"];
            /** @description `queued`, `open`, `quarantined`, or the final status. */
            status: components["schemas"]["RunStatus"];
        };
        /** @description A list of runs. */
        RunList: {
            /** @description The number of runs per status, for the same filter without `status`. Only on the first page. */
            counts?: components["schemas"]["StatusCounts"];
            /** @description The value of `before` for the next page. Absent on the last page. */
            next_before?: string;
            /** @description The runs, newest first. */
            runs: components["schemas"]["RunSummary"][];
        };
        /** @description A run waits for budget. */
        RunParked: {
            /** @description The action that does not begin; none if a model request is not sent. */
            action?: components["schemas"]["ParkedAction"];
            /** @description Stable code of the reason. */
            code: string;
            /** @description The exceeded cap. */
            exceeded: components["schemas"]["BudgetExceeded"];
        };
        /** @description A run cannot continue until a person resumes or abandons it. */
        RunQuarantined: {
            /** @description Stable error code. */
            code: string;
            /** @description Key of the run. */
            run_key: components["schemas"]["RunKey"];
            /** @description Description of the error. */
            why: string;
        };
        /** @description A run started. */
        RunStarted: {
            /** @description Maximum number of rounds. */
            max_rounds: number;
            /** @description The requested model. */
            model_ref: string;
            /** @description Key of the run. */
            run_key: components["schemas"]["RunKey"];
        };
        /** @description The status of a run. */
        RunStatus: "queued" | "open" | "quarantined" | "completed" | "failed" | "out_of_rounds" | "cancelled" | "abandoned" | "absorbed" | "replaced" | "refused" | "gone";
        /** @description A run in a list. */
        RunSummary: {
            /** @description The agent of the run. */
            agent_id: string;
            /** @description The kind of message that started the run. */
            cause_kind?: components["schemas"]["MessageKind"];
            /** @description The cost in dollars. Absent if the run cost nothing. */
            cost_usd?: string;
            /**
             * @description The steps of the run, counted.
             * @default {
             *       "denied": 0,
             *       "failed": 0,
             *       "model_rounds": 0,
             *       "tool_calls": 0,
             *       "unknown": 0
             *     }
             */
            counts: components["schemas"]["StepCounts"];
            /** @description The duration from start to end in milliseconds. Absent while the run is open. */
            duration_ms?: number;
            /**
             * Format: date-time
             * @description When the run ended.
             */
            ended_at?: string;
            /** @description Whether a person erased the contents of the run. */
            erased?: boolean;
            /** @description Why the run is quarantined. */
            fault?: string;
            /** @description The model of the run. */
            model?: string;
            /** @description Whether the run is open and waits for budget. Retrieve the run for the amount. */
            parked?: boolean;
            /** @description The beginning of the message that started the run. */
            preview?: string;
            /** @description The run's key. */
            run_key: string;
            /**
             * Format: date-time
             * @description When the run started.
             */
            started_at: string;
            /** @description `open`, `quarantined`, or how the run ended. */
            status: components["schemas"]["RunStatus"];
            /** @description The conversation that the run belongs to. Absent if no person started the run. */
            thread?: string;
            /** @description The number of state transitions. */
            transitions: number;
            /** @description What an open run waits for. Absent if it works or has ended. */
            waiting_for?: components["schemas"]["WaitingFor"];
            /** @description The sub-runs without which the run cannot continue. */
            waiting_on?: string[];
        };
        /** @description A person restored files of a workspace to their state before a run, or after it. */
        RunUndone: {
            /** @description Which state was restored. */
            direction: components["schemas"]["UndoDirection"];
            /** @description Number of files that were removed. */
            removed: number;
            /** @description Number of files whose content was restored. */
            restored: number;
            /** @description Key of the run. */
            run_key: components["schemas"]["RunKey"];
            /** @description Number of files that were left as they are, because they were changed since. */
            skipped: number;
        };
        /** @description An error occurred that a person should know about. */
        RuntimeError: {
            /** @description The stored description of the failure. */
            failure_artifact: components["schemas"]["FailureArtifact"];
        };
        /** @description The current status of the daemon. */
        RuntimeStatus: {
            /** @description The number of public agents that are not paused. */
            active_agent_count: number;
            /** @description The number of background tasks in progress. */
            active_task_count: number;
            /** @description The daily backups of the home. */
            backup: components["schemas"]["BackupStatus"];
            /** @description The brakes that are set; the brake for all agents comes first. */
            brakes: components["schemas"]["Brake"][];
            /** @description A hash of the configuration with which the daemon was started. */
            config_fingerprint: string;
            /** @description How far the commands of agents are confined on this machine. Absent if it could not be checked. */
            confinement?: components["schemas"]["Confinement"];
            /** @description The database: `sqlite` or `postgres`. */
            database: string;
            /** @description The home folder, which contains all data. */
            home_dir: string;
            /** @description The address at which the daemon listens. */
            http_addr: string;
            /** @description The newest failure, if there is one. */
            last_failure?: components["schemas"]["LastFailure"];
            /** @description The model that is used when a message names none. */
            model: components["schemas"]["DefaultModel"];
            /** @description The names of changed settings that apply only after a restart of the daemon. */
            needs_restart?: string[];
            /** @description The number of pending decisions of all agents. */
            pending_decision_count: number;
            /** @description The process id. */
            pid: number;
            /** @description The number of agents with a run in progress. */
            processing_agent_count: number;
            /** @description The number of quarantined runs of all agents, which wait until a person resumes or abandons them. */
            quarantined_run_count: number;
            /** @description The readiness of the daemon. */
            readiness: components["schemas"]["Readiness"];
            /** @description Why the settings file is not in force, while it is invalid. The last valid settings apply. */
            settings_problem?: components["schemas"]["SettingsProblem"];
            /**
             * Format: date-time
             * @description When the daemon started.
             */
            started_at: string;
            /** @description What the daemon is doing. */
            state: components["schemas"]["DaemonState"];
            /** @description Why the storage refused the last write. Absent after a successful write. */
            storage?: components["schemas"]["Problem"];
            /** @description The number of open event streams. */
            stream_count: number;
            /** @description The agents whose work cannot continue; at most 50. */
            stuck: components["schemas"]["StuckAgent"][];
            /** @description The version of the program. */
            version: string;
            /** @description The number of agents with queued messages and no run in progress. */
            waiting_agent_count: number;
        };
        /** @description A write of an agent to the journal that has not finished. */
        Saga: {
            /** @description The agent of the run. Absent if the run no longer exists. */
            agent_id?: string;
            /** @description The last error. */
            last_error?: string;
            /** @description The action that the saga performs. */
            operation_id: string;
            /** @description The current phase. */
            phase: components["schemas"]["SagaPhase"];
            /** @description The run of the action. */
            run_key: string;
            /** @description The status of the saga. */
            status: components["schemas"]["SagaStatus"];
            /**
             * Format: date-time
             * @description When the saga last changed.
             */
            updated_at: string;
        };
        /** @description A list of sagas that have not finished. */
        SagaList: {
            /** @description The sagas, oldest first. */
            sagas: components["schemas"]["Saga"][];
        };
        /** @description How far a write to the journal and its record in the agent database have come. */
        SagaPhase: "intent" | "journal" | "agent" | "compensation";
        /** @description Whether a write to the journal is complete in both databases. */
        SagaStatus: "open" | "completed" | "compensated" | "stuck";
        /** @description What the sandbox of an agent allows, and the limits of its tools. */
        SandboxPolicy: {
            /** @description The agent. */
            agent_id: string;
            /** @description Which files its tools may use, beside the temporary folder of each call and the folders of the system. */
            filesystem_scope: components["schemas"]["FilesystemScope"];
            /** @description Which hosts its tools may connect to. Without an allowed host they have none. */
            network_scope: components["schemas"]["NetworkScope"];
            /** @description The limits of its tools. */
            resource_limits: components["schemas"]["ResourceLimits"];
        };
        /** @description What the sandbox of an agent allows beyond its workspace and its temporary folder. */
        SandboxScope: {
            /** @description Hosts that may be connected to: `HOST`, `HOST:PORT`, `*.DOMAIN` or `packages`. */
            allowed_hosts?: string[];
            /** @description Names of secrets that commands may receive. */
            allowed_secrets?: string[];
            /** @description Hosts that may not be connected to, even if a pattern allows them. */
            denied_hosts?: string[];
            /** @description Paths that may not be accessed, even below an allowed one. */
            denied_paths?: string[];
            /** @description Ports of servers in the sandbox that are published on the loopback address of this machine. */
            published_ports?: number[];
            /** @description Folders and files that may be read. Absolute or below `~/`, with an optional `{agentId}`, without patterns. */
            readable_paths?: string[];
            /** @description Protected places of the workspace, such as `.git/hooks`, that may be written nevertheless. */
            unprotected_paths?: string[];
            /** @description Folders that may be written, and read. */
            writable_paths?: string[];
        };
        /** @description A schedule of an agent. */
        Schedule: {
            /** @description The agent that the schedule wakes. */
            agent_id: string;
            /** @description Whether missed firings are caught up. */
            allows_catch_up: boolean;
            /** @description Whether the schedule wakes the agent even if nothing changed. */
            always: boolean;
            /** @description Whether the schedule is disabled after its first firing. */
            auto_disable_after_run: boolean;
            /** @description The maximum age of a missed firing that is caught up, in seconds. */
            catch_up_window_seconds: number;
            /** @description How a firing is handled while the previous one is in progress. */
            concurrency: components["schemas"]["Concurrency"];
            /**
             * Format: date-time
             * @description When the schedule was created.
             */
            created_at: string;
            /** @description The event that fires the schedule in addition to its pattern. */
            event?: string;
            /** @description The number of firing records that were ever created. */
            execution_count: number;
            /** @description A predicate that must be true for a firing to wake the agent. */
            guard?: {
                [key: string]: unknown;
            };
            /** @description The label that people see. */
            label: string;
            /**
             * Format: date-time
             * @description The nominal time of the newest firing.
             */
            last_execution_at?: string;
            /** @description The key of the newest run that the schedule requested. */
            last_run_key?: string;
            /** @description The maximum number of missed firings that run at once. */
            max_catch_up_runs_per_tick: number;
            /** @description The message that a firing delivers to the agent. */
            message: string;
            /**
             * Format: date-time
             * @description The nominal time of the next firing.
             */
            next_execution_at?: string;
            /** @description What a person should know: firings are skipped while nothing changes. Absent if each firing wakes the agent, or if a guard decides. */
            note?: string;
            /** @description When the schedule fires. */
            pattern: components["schemas"]["SchedulePattern"];
            /** @description The revision of the pattern. A new pattern creates a new revision with its own firings. */
            revision: number;
            /** @description The schedule's name. */
            schedule_id: string;
            /** @description The status of the schedule. */
            status: components["schemas"]["ScheduleStatus"];
            /** @description The nominal times of the next three firings. */
            upcoming: string[];
        };
        /** @description A schedule after a change. */
        ScheduleChange: {
            /** @description Revision of the schedule after the change. */
            revision: number;
            /** @description Id of the schedule. */
            schedule_id: components["schemas"]["RuleId"];
            /** @description Status of the schedule after the change. */
            status: components["schemas"]["ScheduleStatus"];
        };
        /** @description A predicate over an agent's situation when a schedule fires. */
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
        /** @description A schedule and the records of its firings. The oldest records are eventually deleted. */
        ScheduleHistory: {
            /** @description The records, newest first. */
            executions: components["schemas"]["ScheduledExecution"][];
            /** @description The schedule. */
            schedule: components["schemas"]["Schedule"];
        };
        /** @description A list of schedules. */
        ScheduleList: {
            /** @description The schedules, sorted by name. */
            schedules: components["schemas"]["Schedule"][];
            /** @description The schedules with data that cannot be read. They do not fire. */
            unreadable?: components["schemas"]["UnreadableSchedule"][];
        };
        /** @description When a schedule fires: a cron pattern in a time zone, an interval from an anchor, or a single time. */
        SchedulePattern: {
            /**
             * Format: date-time
             * @description A time at which the schedule fires, from which the interval is counted. Defaults to now. Used with `interval_seconds`.
             */
            anchor?: string | null;
            /**
             * Format: date-time
             * @description The single time at which the schedule fires.
             */
            at?: string | null;
            /** @description A cron pattern with five fields. */
            cron?: string | null;
            /** @description The time between firings, in seconds. */
            interval_seconds?: number | null;
            /** @description The IANA name of the time zone in which the pattern is evaluated. Used with `cron`. */
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
        /** @description Why a schedule did not fire, or ended. */
        ScheduleReason: "missed" | "concurrency_forbid" | "concurrency_replace" | "already_run" | "agent_destroyed" | "unreadable" | "pattern_unreadable" | "exhausted" | "once";
        /** @description Whether a schedule fires. */
        ScheduleStatus: "active" | "paused" | "disabled" | "expired";
        /** @description The record of a firing. */
        ScheduledExecution: {
            /**
             * Format: date-time
             * @description When the outcome was decided.
             */
            at: string;
            /**
             * Format: date-time
             * @description The nominal time of the firing; if the record covers several, of the first.
             */
            due_at: string;
            /** @description The number of firings that the record covers. */
            firing_count: number;
            /** @description Whether the count was capped because there were more firings. */
            is_capped: boolean;
            /** @description Whether this is a missed firing that was caught up. */
            is_catch_up: boolean;
            /** @description The outcome of the firing. */
            outcome: components["schemas"]["ExecutionOutcome"];
            /** @description Why the firing did not run. */
            reason?: components["schemas"]["ExecutionReason"];
            /** @description The revision of the schedule. */
            revision: number;
            /**
             * Format: date-time
             * @description When the run ended.
             */
            run_ended_at?: string;
            /** @description The key of the run that the firing requested. */
            run_key?: string;
            /**
             * Format: date-time
             * @description When the run started.
             */
            run_started_at?: string;
            /** @description The status of that run. Absent before it has started. */
            run_status?: components["schemas"]["RunStatus"];
            /** @description The schedule's name. */
            schedule_id: string;
            /** @description The sequence number among all records of the schedule, starting at 1. */
            seq: number;
            /** @description What fired the schedule. */
            trigger_source: components["schemas"]["TriggerSource"];
        };
        /** @description A stored secret, without its value. */
        Secret: {
            /**
             * @description The agents whose commands may receive it.
             * @default []
             */
            agents: string[];
            /** @description Where the value is stored: `env:NAME`, `file:/PATH` or `keyring:SERVICE/ACCOUNT`. */
            key_handle: string;
            /** @description The name of the environment variable under which a command receives it. */
            name: string;
            /** @description Why the value is not available now, and what to do. */
            problem?: string;
        };
        /** @description Whether the agent may use a secret. */
        SecretScope: "allowed" | "denied";
        /** @description A message to an agent. */
        SendMessage: {
            /** @description A JSON Schema that the answer must fit; at most 32 KiB. The supported keywords are those of `wakeful help schema`; another one is refused. The model may correct an answer that does not fit once, then the run fails with `answer_not_valid`. */
            answer_schema?: {
                [key: string]: unknown;
            } | null;
            /** @description Tools that require a person's approval in this run. */
            ask_tools?: string[];
            /** @description Images and documents, at most 20 MiB together. The model receives them before the text. */
            attachments?: components["schemas"]["AttachmentInput"][];
            /** @description Tools that this run may not use. */
            deny_tools?: string[];
            /** @description Whether this run may only read and plan: it changes no file, record or remote system. Its commands cannot write in the workspace. */
            is_read_only?: boolean;
            /** @description The idempotency key. Repeating the same message with the same key has no further effect; a different message with the same key is an error. The header `Idempotency-Key` does the same. */
            key?: string | null;
            /** @description What this run may use together with its sub-runs. */
            limits?: components["schemas"]["RunLimits"];
            /** @description The maximum number of model rounds, after which the run ends. */
            max_rounds?: number | null;
            /** @description The model for this run. Defaults to the agent's model. */
            model?: string | null;
            /** @description The priority in the queue. Defaults to `normal`. It does not affect trust. */
            priority?: components["schemas"]["Priority"] | null;
            /** @description The text of the message. At most 256 KiB. */
            text: string;
            /** @description The conversation that the message belongs to. Each conversation of an agent has its own transcript. Defaults to `cli`, which the command line and the page share. */
            thread?: string | null;
            /** @description The folder in which the commands of this run are executed. Defaults to the agent's workspace. */
            workspace?: string | null;
        };
        /** @description The mode to set for an agent. */
        SetAgentMode: {
            /** @description Which causes may wake the agent. */
            mode: components["schemas"]["InteractionMode"];
        };
        /** @description The sleep to set for an agent. */
        SetAgentSleep: {
            /**
             * Format: date-time
             * @description The time until which only a person can wake the agent.
             */
            until: string;
        };
        /** @description The brake to set. */
        SetBrake: {
            /** @description The agent to hold. If absent, all agents are held. */
            agent_id?: string | null;
            /** @description The reason for the brake. */
            reason?: string | null;
        };
        /** @description The cap to set. Give either `daily_usd` or `unset`. */
        SetCap: {
            /** @description The agent whose cap is set. If absent, the cap of all agents together is set. */
            agent_id?: string | null;
            /** @description The cap in dollars per day, at most 1000000, with at most six decimals. */
            daily_usd?: string | null;
            /** @description Remove the cap, so that the default applies again. */
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
        /** @description The limit to set. */
        SetLimit: {
            /** @description The limit, in the smallest unit of the resource. */
            max: number;
            /** @description How long use counts: `daily` unless given. A run, a tree of runs and a session have no period. */
            period?: components["schemas"]["BudgetPeriod"] | null;
            /** @description What it counts. */
            resource: components["schemas"]["BudgetResource"];
            /** @description Whose use it counts. */
            scope: components["schemas"]["BudgetScope"];
            /** @description The agent, the session as `AGENT/SESSION`, or the first digits of the key of a run. Required unless the scope is `all`. */
            subject?: string | null;
        };
        /** @description The key to store. */
        SetProviderKey: {
            /** @description The key: printable ASCII characters without spaces. Surrounding white space is removed. */
            key: string;
            /**
             * @description Store the key without testing it.
             * @default false
             */
            skip_test?: boolean;
        };
        /** @description The secret to store. */
        SetSecret: {
            /** @description The value: 8 to 8192 bytes that do not look like a word. Surrounding white space is removed. */
            value: string;
        };
        /** @description One setting. */
        Setting: {
            /** @description What the setting does. */
            description: string;
            /** @description The line in the settings file, if it comes from there. */
            line?: number;
            /** @description The name, such as `server.port`. */
            name: string;
            /** @description Whether a change applies only after a restart of the daemon. */
            needs_restart: boolean;
            /** @description Where the value comes from. */
            origin: components["schemas"]["SettingOrigin"];
            /** @description The value in force. Absent if the setting has none. */
            value?: unknown;
        };
        /** @description Where the value of a setting comes from. */
        SettingOrigin: "default" | "file" | "environment" | "flag";
        /** @description The settings of a home. */
        SettingsList: {
            /** @description The path of the settings file. */
            file: string;
            /** @description Why a model could not be verified. Only in the response to the change that set it. */
            model_warning?: string;
            /** @description Why the file is not in force, while it is invalid. */
            problem?: components["schemas"]["SettingsProblem"];
            /** @description The settings, sorted by name. */
            settings: components["schemas"]["Setting"][];
        };
        /** @description An error in the settings file. */
        SettingsProblem: {
            /** @description A stable code for programs. */
            code: string;
            /** @description What to do about it. */
            hint: string;
            /** @description The line in the file, if it is known. */
            line?: number;
            /** @description One sentence that names the file and the setting. */
            message: string;
        };
        /** @description How urgent the answer is, from lowest to highest. */
        Severity: "warning" | "low" | "medium" | "high" | "critical";
        /** @description Why a file is not restored. */
        SkipReason: "changed_since" | "unwritable";
        /** @description A file that was not restored. */
        SkippedFile: {
            /** @description The path in the workspace. */
            path: string;
            /** @description Why it was not restored. */
            reason: components["schemas"]["SkipReason"];
        };
        /** @description A watched folder or Git repository. Its changes wake the agents that subscribe to it. */
        Source: {
            /**
             * Format: date-time
             * @description When the source was added. Contents from before do not count as changes.
             */
            created_at: string;
            /** @description The number of files or refs in the last scan. */
            entries: number;
            /** @description The kind of source. */
            kind: components["schemas"]["SourceKind2"];
            /** @description Why the last scan or watch failed. */
            last_error?: string;
            /** @description The path of the source. */
            path: string;
            /** @description The source's name. */
            source_id: string;
        };
        /** @description What a source watches. */
        SourceKind: "folder" | "git";
        /** @description What a source watches. */
        SourceKind2: "folder" | "git";
        /** @description A list of all sources. */
        SourceList: {
            /** @description The sources, sorted by name. */
            sources: components["schemas"]["Source"][];
        };
        /** @description One untrusted source. */
        SourceRef: {
            kind: components["schemas"]["SourceKind"];
            /** @description Its URL, path, host or id; empty once it is erased. */
            name?: string;
        };
        /** @description The result of a scan. */
        SourceScan: {
            /** @description The number of changes that were found. */
            changes: number;
            /** @description The source's name. */
            source_id: string;
            /** @description The number of files or refs that could not be read. They are treated as unchanged. */
            unreadable: number;
        };
        /** @description The number of runs per status. */
        StatusCounts: {
            /** @description Abandoned runs. */
            abandoned: number;
            /** @description Cancelled runs. */
            cancelled: number;
            /** @description Completed runs. */
            completed: number;
            /** @description Failed runs. */
            failed: number;
            /** @description Whether there are more runs than were counted: at most 10,000, and with `search` 2,000. */
            is_lower_bound?: boolean;
            /** @description Runs that have not ended, including waiting ones. */
            open: number;
            /** @description Runs that used all their rounds. */
            out_of_rounds: number;
            /** @description Quarantined runs. */
            quarantined: number;
            /** @description Open runs that wait for something. */
            waiting: number;
        };
        /** @description One step of a run: a model round or a tool call. */
        Step: {
            /**
             * Format: date-time
             * @description When the step was created.
             */
            at: string;
            /** @description What was enforced for a command: `enforced`, `partly_enforced` or `not_enforced` for each of `path`, `write`, `network`, `secret` and `child_process`. Empty for other tools. */
            confinement?: {
                [key: string]: string;
            };
            /** @description The connections of a command to hosts outside its sandbox. */
            connections?: components["schemas"]["Connection"][];
            /** @description The pending decision that the tool call waits for. */
            decision_id?: string;
            /** @description The duration in milliseconds. */
            duration_ms?: number;
            /** @description The error output of a command. */
            error_output?: components["schemas"]["StepText"];
            /**
             * Format: int32
             * @description The exit status of a command; 128 and more if a signal ended it.
             */
            exit_status?: number;
            /** @description What a person should look at after a command, such as a new Git hook in the workspace. */
            findings?: string[];
            /** @description The arguments of a tool call as JSON. Absent if they were erased, removed by retention, or are too far back in a long run. */
            input?: components["schemas"]["StepText"];
            /** @description The audit record of a tool call that has ended, performed or denied. */
            invocation?: components["schemas"]["ToolInvocation"];
            /** @description The kind of step. */
            kind: components["schemas"]["StepKind"];
            /** @description The name of the tool or model. */
            name: string;
            /** @description The operation id of the step. */
            operation_id: string;
            /** @description The standard output of a command, the result of another tool as JSON, or the text of a model reply. */
            output?: components["schemas"]["StepText"];
            /** @description The rule that allowed or denied the step, or the error. */
            reason: string;
            /** @description The sandbox that was enforced. */
            sandbox?: string;
            /** @description The status of the step. */
            status: components["schemas"]["StepStatus"];
            /** @description The tokens used by a model round. */
            token_usage: components["schemas"]["TokenUsage"];
        };
        /** @description The steps of a run, counted. */
        StepCounts: {
            /** @description Tool calls that were denied. */
            denied: number;
            /** @description Tool calls that failed, including commands with a non-zero exit status. */
            failed: number;
            /** @description Model replies. */
            model_rounds: number;
            /** @description All tool calls. */
            tool_calls: number;
            /** @description Tool calls with an unknown outcome. */
            unknown: number;
        };
        /** @description The kind of a step. */
        StepKind: "model" | "tool";
        /** @description How far a step has come, or how it ended. */
        StepStatus: "planned" | "waiting_for_approval" | "intended" | "ok" | "partial" | "failed" | "denied" | "outcome_unknown";
        /** @description A text of a step, within a bound. */
        StepText: {
            /** @description The size of the whole text in bytes. */
            bytes: number;
            /** @description The text. If it is truncated: its beginning, a line that states what is omitted, and its end. */
            text: string;
            /** @description Whether `text` is not the whole text. */
            truncated?: boolean;
        };
        /** @description A stored key: the provider that has it now, and the result of its test. */
        StoredKey: {
            /** @description The provider. */
            provider: components["schemas"]["ModelProvider"];
            /** @description The result of the test. Absent if it was skipped. */
            test?: components["schemas"]["ProviderTest"];
        };
        /** @description A ticket that opens one event stream. */
        StreamTicket: {
            /**
             * Format: date-time
             * @description When the ticket expires.
             */
            expires_at: string;
            /** @description The ticket. Send it as the parameter `ticket` of the stream, with the cookie of the same login. It works once, within 30 seconds. */
            ticket: string;
        };
        /** @description An agent whose work cannot continue. */
        StuckAgent: {
            /** @description The agent's name. */
            agent_id: string;
            /** @description A stable code for programs. */
            code: string;
            /** @description What to do about it. */
            hint: string;
            /** @description One sentence for a person. */
            message: string;
        };
        /** @description A run started a run of another agent. */
        SubRunStarted: {
            /** @description Agent of the sub-run. */
            child_agent_id: components["schemas"]["AgentId"];
            /** @description Key of the sub-run. */
            child_run_key: components["schemas"]["RunKey"];
            /** @description Number of ancestors of the sub-run. */
            depth: number;
            /** @description The action that started it. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The tool that started it. */
            tool: string;
        };
        /** @description A subscription. Changes that match it wake its agent. */
        Subscription: {
            /** @description The agent that the subscription wakes. */
            agent_id: string;
            /** @description Tokens that must all match. */
            all: string[];
            /** @description Tokens of which at least one must match: a kind such as `TASK`, a value such as `task.status=done`, or `id:` followed by a record id. */
            any: string[];
            /** @description How long nothing starts after a wake by this subscription, in milliseconds. Changes in that time are collected. */
            cooldown_ms: number;
            /**
             * Format: date-time
             * @description When the subscription was created. It does not match earlier changes.
             */
            created_at: string;
            /** @description How long changes are collected before they wake the agent, in milliseconds, counted from the first of them. */
            debounce_ms: number;
            /** @description A predicate over the agent and the change: `since_last_run_ms`, `queued`, `author` and `depth`. */
            guard?: {
                [key: string]: unknown;
            };
            /** @description Whether the subscription is active and not paused. */
            is_active: boolean;
            /** @description The instruction for the agent; may be empty. */
            message: string;
            /** @description A predicate over the changed record. */
            predicate?: {
                [key: string]: unknown;
            };
            /** @description The subscription's name. */
            subscription_id: string;
            /** @description Words of the subscription that match nothing, such as a misspelt category, each in one sentence with the nearest word that exists. Only in the responses to its creation and to a change of its terms. */
            warnings?: string[];
        };
        /** @description How a subscription changed. */
        SubscriptionChange: "made" | "paused" | "resumed" | "edited" | "gone";
        /** @description A list of subscriptions. */
        SubscriptionList: {
            /** @description The value of `after` for the next page. Absent on the last page. */
            next_after?: string;
            /** @description The subscriptions, sorted by name. */
            subscriptions: components["schemas"]["Subscription"][];
        };
        /** @description One thing that a call acts on. */
        Target: {
            access: components["schemas"]["PathAccess"];
            /** @constant */
            kind: "path";
            path: string;
            scope: components["schemas"]["PathScope"];
        } | {
            host: string;
            /** @constant */
            kind: "host";
            port: number;
            scope: components["schemas"]["HostScope"];
        } | {
            agent_id: components["schemas"]["AgentId"];
            /** @constant */
            kind: "agent";
        } | {
            /** @constant */
            kind: "secret";
            name: string;
            scope: components["schemas"]["SecretScope"];
        };
        /** @description A task. */
        Task: {
            /** @description The category of the task. */
            category_id?: string;
            /**
             * Format: date-time
             * @description When the task was created.
             */
            created_at: string;
            /** @description The details; may be empty. */
            details: string;
            /** @description The status of the task. */
            status: components["schemas"]["TaskStatus"];
            /** @description The task's id: 32 hex digits. */
            task_id: string;
            /** @description The title, in one line. */
            title: string;
            /**
             * Format: date-time
             * @description When the task was last written.
             */
            updated_at: string;
            /** @description The number of writes to the task. */
            version: number;
        };
        /** @description A list of tasks. */
        TaskList: {
            /** @description The tasks, newest first. */
            tasks: components["schemas"]["Task"][];
        };
        /** @description The status of a task. Any status may follow any other. */
        TaskStatus: "open" | "in_progress" | "done" | "dropped";
        /** @description The provider to test. */
        TestProvider: {
            /** @description A model of the provider, without the provider's name: the test also checks that it exists. */
            model?: string | null;
        };
        /** @description A conversation between a person and an agent. */
        Thread: {
            /**
             * Format: date-time
             * @description When the newest entry was added.
             */
            last_at: string;
            /** @description The run in progress. Absent if there is none. */
            open_run?: string;
            /** @description The beginning of the newest text. Absent if the newest entries contain none. */
            preview?: string;
            /** @description The name of the conversation. */
            thread: string;
        };
        /** @description A conversation thread: `agent:session:<session>` or `agent:run:<run key>`. */
        ThreadId: string;
        /** @description The conversations of an agent. */
        ThreadList: {
            /** @description The conversations, the most recent first; at most 500. */
            threads: components["schemas"]["Thread"][];
        };
        /** @description Token counts as reported by the providers. */
        TokenUsage: {
            /** @description The input tokens that were read from the provider's cache. */
            cached_read_tokens?: number;
            /** @description The input tokens that were written to the provider's cache. */
            cached_write_tokens?: number;
            /** @description The tokens of model requests, including cached ones. */
            input_tokens: number;
            /** @description The tokens of model replies, including reasoning. */
            output_tokens: number;
            /** @description The output tokens that were used for reasoning. */
            reasoning_tokens?: number;
            /** @description The sum of input and output tokens. */
            total_tokens: number;
            /** @description The searches of the web that the provider performed and charges for. */
            web_searches?: number;
        };
        /** @description One tool call of a run. */
        ToolCall: {
            /**
             * Format: int32
             * @description The exit status of a command. Absent for other tools.
             */
            exit_status?: number;
            /** @description The name of the tool. */
            name: string;
            /** @description The operation id of the call. */
            operation_id: string;
            /** @description The sandbox that was enforced. */
            sandbox?: string;
            /** @description The status of the call. */
            status: components["schemas"]["StepStatus"];
        };
        /** @description One action ended. */
        ToolExecuted: {
            /** @description Backoff until the next attempt, in milliseconds. */
            again_in_ms?: number;
            /** @description Number of the attempt, if another follows. */
            attempt?: number;
            /** @description The category of the denial, if the tool refused the action. */
            category?: components["schemas"]["DenialCategory"];
            /** @description Stable code of the error. */
            code?: string;
            /** @description Duration in milliseconds. */
            duration_ms: number;
            /** @description The same error in one line. */
            error?: string;
            /**
             * Format: int32
             * @description Exit status of a command. Absent for other actions.
             */
            exit_status?: number;
            /** @description What the action changed, as far as its tool knows. */
            links?: components["schemas"]["EntityLink"][];
            /** @description Id of the action. */
            operation_id: components["schemas"]["OperationId"];
            /** @description The sandbox that was enforced. */
            sandbox?: string;
            /** @description The stage at which the tool refused the action, if it did. */
            stage?: components["schemas"]["GateStage"];
            /** @description Result of the action. */
            status: components["schemas"]["StepStatus"];
            /** @description The tool that the action used. */
            tool: string;
            /** @description The error with its parts, if the tool reported one. */
            tool_error?: components["schemas"]["ErrorEnvelope"];
        };
        /** @description A tool call that has ended. None of its links can be absent. */
        ToolInvocation: {
            /** @description Set if the call was denied. */
            denialCategory?: components["schemas"]["DenialCategory"];
            /** @description The version of the policy that judged the call. */
            governedByPolicy: components["schemas"]["PolicyVersion"];
            hasComplianceStatus: components["schemas"]["ComplianceStatus"];
            /** @description Hash of the arguments. */
            hasInput: components["schemas"]["Digest"];
            /** @description Hash of the content that the model received. */
            hasOutput: components["schemas"]["BlobHash"];
            /** @description The conversation thread. */
            inSession: components["schemas"]["ThreadId"];
            /** @description The agent. */
            invokedBy: components["schemas"]["AgentId"];
            /** @description The tool. */
            invokesTool: string;
            operationId: components["schemas"]["OperationId"];
            /** @description The call id under which the result is in the transcript. */
            producedToolResult: string;
            /** @description The last stage that the call reached. */
            stage: components["schemas"]["GateStage"];
            /** @description The steps that the call left, in order. */
            trail: components["schemas"]["TrailStep"][];
        };
        /** @description The tools that agents can have. */
        ToolList: {
            /** @description The names of the tools, sorted. */
            tools: string[];
        };
        /** @description Output of a tool call that is still running. Like text of a model, it is sent only on streams, is not stored and has no id; the result of the call contains the output. It consists of whole lines. When a command prints much at once, the middle is left out and a line says so. */
        ToolOutput: {
            /** @description The agent whose tool call runs. */
            agent_id: string;
            /** @description The number of the piece within the tool call, starting at 0. */
            chunk: number;
            /** @description The operation id of the tool call. */
            operation_id: string;
            /** @description The run that the tool call belongs to. */
            run_key: string;
            /** @description The stream that the text was written to. */
            stream: components["schemas"]["ToolOutputStream"];
            /** @description The text of the piece. */
            text: string;
        };
        /** @description An output stream of a command. */
        ToolOutputStream: "stdout" | "stderr";
        /** @description How often an agent may use a tool. A quota has at least one limit. */
        ToolQuota: {
            /** @description Maximum uses within the last 24 hours, over all sessions. */
            max_per_day?: number | null;
            /** @description Maximum uses in one session of the agent. */
            max_per_session?: number | null;
        };
        /** @description A correlation or causation id: a derived key, or an id that the sender gave. */
        TraceId: string;
        /** @description A step of the trail that a call leaves. */
        TrailStep: ("policy" | "quota" | "audit" | "handler" | "counters") | "tool_result" | "tool_invocation";
        /** @description The newest entries of a conversation. */
        Transcript: {
            /** @description The agent's name. */
            agent_id: string;
            /** @description Whether there are older entries. Increase `limit` to retrieve them. */
            has_more: boolean;
            /** @description The entries, oldest first. */
            lines: components["schemas"]["TranscriptLine"][];
        };
        /** @description One entry of a transcript. */
        TranscriptLine: {
            /**
             * Format: date-time
             * @description When the entry was added.
             */
            at: string;
            /** @description The content of the entry. */
            blocks: components["schemas"]["Block"][];
            /** @description Whether the content was erased. */
            erased?: boolean;
            /** @description The author of the entry. */
            role: components["schemas"]["Role"];
            /** @description How the run of this entry ended, or why it cannot continue. Only on the last entry of a run that did not succeed, is quarantined or waits for budget. */
            run?: components["schemas"]["TranscriptRun"];
            /** @description The run that the entry belongs to. */
            run_key: string;
        };
        /** @description A run in a transcript that did not succeed or cannot continue. */
        TranscriptRun: {
            /** @description The cause, and what a person can do. */
            explanation: components["schemas"]["RunExplanation"];
            /** @description The run that runs this one again, if there is one. */
            retried_by?: string;
            /** @description The status of the run. */
            status: components["schemas"]["RunStatus"];
            /** @description What an open run waits for. */
            waiting_for?: components["schemas"]["WaitingFor"];
        };
        /** @description Details of one HTTP exchange with a provider. */
        TransportDiagnostics: {
            /** @description The error flags of the HTTP client. */
            reqwest?: components["schemas"]["ClientFlags"];
            /** @description The chain of error causes, outermost first. */
            source_chain?: string[];
            /** @description The stage that was reached: `connect`, `first_byte`, `body`, `decode`, or `gate` if nothing was sent. */
            stage: string;
            /** @description HTTP status code of the response. */
            status?: number;
            /** @description The request URL without query and fragment. */
            url?: string;
        };
        /** @description How an external trigger changed. */
        TriggerChange: "made" | "rotated" | "revoked";
        /** @description The result of a delivery. */
        TriggerDeliveryResult: {
            /** @description Whether the delivery was new. A repeated delivery is not accepted twice. */
            is_new: boolean;
            /** @description The key of the run that the delivery may start. */
            run_key: string;
        };
        /** @description A request to fire a schedule now. */
        TriggerSchedule: {
            /** @description The idempotency key: repeating the request with the same key has no further effect. */
            key?: string | null;
        };
        /** @description What caused a firing. */
        TriggerSource: "tick" | "trigger_now" | "event";
        /** @description The answer about a folder. */
        TrustFolder: {
            /** @description The path of the folder on the daemon's machine. */
            folder: string;
            /** @description Whether it is trusted. */
            is_trusted: boolean;
        };
        /** @description A folder whose trust is known. */
        TrustedFolder: {
            /** @description The agents that work in it. */
            agents?: string[];
            /**
             * Format: date-time
             * @description When the operator answered. Absent for a workspace that the operator gave to an agent without an answer.
             */
            answered_at?: string;
            /** @description The path. */
            folder: string;
            /** @description Whether its files count as the operator's. */
            is_trusted: boolean;
            /** @description The number of actions with untrusted data that changed it since the last review. Several may count as one. */
            untrusted_actions: number;
        };
        /** @description One file or folder that a snapshot does not cover. */
        UncoveredEntry: {
            /** @description The path in the workspace. */
            path: string;
            /** @description Why it is not covered. */
            reason: components["schemas"]["UncoveredReason"];
        };
        /** @description Why a snapshot does not cover a file or folder. */
        UncoveredReason: "ignored" | "too_large" | "snapshot_full" | "git_data" | "out_of_reach" | "special_file" | "unreadable";
        /** @description Whether to restore the state before a run, or the state that it left. */
        UndoDirection: "undo" | "redo";
        /** @description The result of undoing a run, or of undoing that again. */
        UndoReport: {
            /** @description The direction. */
            direction: components["schemas"]["UndoDirection"];
            /** @description Whether nothing was changed, because only the plan was requested. */
            dry_run: boolean;
            /** @description What the snapshots do not cover. */
            not_covered: components["schemas"]["NotCovered"];
            /** @description Files that were removed, at most 1,000. */
            removed: string[];
            /** @description The number of removed files. */
            removed_total: number;
            /** @description Files whose content was restored, at most 1,000. */
            restored: string[];
            /** @description The number of restored files. */
            restored_total: number;
            /** @description Files that were left as they are, at most 1,000. */
            skipped: components["schemas"]["SkippedFile"][];
            /** @description The number of skipped files. */
            skipped_total: number;
            /** @description The number of files that had the wanted state already. */
            unchanged_total: number;
        };
        /** @description Which files of a run to restore. */
        UndoRun: {
            /**
             * @description Whether to restore the state before the run (`undo`) or the state that it left (`redo`).
             * @default undo
             */
            direction?: components["schemas"]["UndoDirection"];
            /**
             * @description Whether only to report what would be done.
             * @default false
             */
            dry_run?: boolean;
            /**
             * @description Files and folders of the workspace. Every changed file if empty.
             * @default []
             */
            paths?: string[];
        };
        /** @description A schedule with data that cannot be read. */
        UnreadableSchedule: {
            /** @description The stored name of the agent. */
            agent_id: string;
            /** @description The column that cannot be read. */
            column: string;
            /** @description The stored name of the schedule. */
            schedule_id: string;
        };
        /** @description A file that an action with untrusted data may have written. */
        UntrustedFile: {
            /** @description The agent. */
            agent_id: string;
            /**
             * Format: date-time
             * @description When it was changed last.
             */
            changed_at: string;
            /** @description The path below the folder. */
            path: string;
            /** @description The run of the action. Absent if it is not known. */
            run_key?: string;
            /** @description The tool. */
            tool: string;
        };
        /** @description The changes to a task. Fields that are left out do not change. */
        UpdateTask: {
            /** @description The category of the task. */
            category_id?: string | null;
            /** @description The details. */
            details?: string | null;
            /** @description The idempotency key: repeating a write with the same key has no further effect. */
            key?: string | null;
            /** @description The status of the task. */
            status?: components["schemas"]["TaskStatus"] | null;
            /** @description The title, in one line. */
            title?: string | null;
        };
        /** @description Token counts reported by the provider. Zero if it did not report one. */
        Usage: {
            /** @description Request tokens read from the provider's cache. */
            cached_read_tokens?: number;
            /** @description Request tokens written to the provider's cache. */
            cached_write_tokens?: number;
            /** @description Tokens of the request, including cached ones. */
            input_tokens: number;
            /** @description Tokens of the reply, including reasoning. */
            output_tokens: number;
            /** @description Reply tokens spent on reasoning. */
            reasoning_tokens?: number;
            /** @description Searches of the web that the provider performed and charges for. They are not tokens. */
            web_searches?: number;
        };
        /**
         * Format: int64
         * @description A day in UTC, counted from 1970-01-01.
         */
        UtcDay: number;
        /** @description Whether an agent is listed. */
        Visibility: "public" | "private";
        /** @description What an open run waits for. */
        WaitKind: "budget" | "due" | "decision" | "children" | "turn" | "rate";
        /** @description What an open run waits for. */
        WaitingFor: "approval" | "budget" | "sub_runs" | "time" | "turn" | "brake" | "rate";
        /** @description The verdict on a cause: whether it wakes the agent, and why. */
        Wake: {
            /**
             * Format: date-time
             * @description When the verdict was reached.
             */
            at: string;
            /** @description The cause. */
            cause: components["schemas"]["WakeCause"];
            /** @description The gates that were checked, up to the first that refused. */
            gates: components["schemas"]["Gate"][];
            /** @description What to change so that the cause is accepted. */
            hint?: string;
            /** @description A description of the verdict in one sentence. */
            message: string;
            /** @description The key of the requested run. */
            run_key: string;
            /** @description The verdict: `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal. */
            verdict: components["schemas"]["WakeOutcome"];
        };
        /** @description The cause of a wake, as it was stored with its message. */
        WakeCause: {
            /** @description The author of the change: `person`, or `agent:` followed by a name. */
            author?: string;
            /** @description The direct cause: a run, a change, or an id that a sender gave. */
            causation_id?: string;
            /** @description The logical change key. */
            change?: string;
            /**
             * @description The id of the chain of causes: the key of its first cause, or an id that a sender gave.
             * @default
             */
            correlation_id: string;
            /** @description How many causes made by agents precede this one. */
            depth: number;
            /** @description A description of the cause in one sentence. */
            description: string;
            /** @description The kind of cause: `operator`, `subscription`, `schedule`, `trigger` or `run`. */
            kind: components["schemas"]["OriginKind"];
            /**
             * @description The priority in the queue.
             * @default normal
             */
            priority: components["schemas"]["Priority"];
            /** @description The run that caused the wake. */
            run_key?: string;
            /**
             * Format: date-time
             * @description The nominal time of the firing.
             */
            scheduled_at?: string;
            /** @description The source by which refusals are counted: the kind, and the name of the subscription, schedule, trigger or run. */
            source: string;
            /** @description The ids of related objects: subscription, change, schedule, nominal time, trigger, delivery or run. */
            source_refs?: {
                [key: string]: string;
            };
            /** @description The tokens of the change; at most 64. */
            tokens?: string[];
        };
        /** @description The verdict on a message: whether it starts a run. */
        WakeDecided: {
            /** @description Number of further messages that the run absorbed. */
            absorbed?: number;
            /** @description The run that absorbed the message. */
            absorbed_by?: components["schemas"]["RunKey"];
            /** @description Kind of the message that became a run. */
            reason?: components["schemas"]["MessageKind"];
            /** @description Key of the message and of the run it requests. */
            run_key: components["schemas"]["RunKey"];
            /** @description The verdict. */
            verdict: components["schemas"]["WakeOutcome"];
        };
        /** @description The outcome of a cause. */
        WakeOutcome: "run" | "queued" | "absorbed" | "cancelled" | "replaced" | "run_open" | "paused" | "braked" | "stopped" | "not_active" | "dormant" | "destroyed" | "interactive_only" | "own_write" | "causal_depth_exceeded" | "predicate_false" | "guard_false" | "subscription_paused" | "nothing_to_do" | "queue_full" | "agent_is_itself" | "agent_unknown" | "agent_waits" | "too_deep";
        /** @description What kept an agent from being woken. */
        WhyNot: {
            /** @description The agent's name. */
            agent_id: string;
            /** @description Whether the agent is running, paused or stopped. */
            control: components["schemas"]["AgentControl"];
            /** @description The current holds of the agent. */
            holds: components["schemas"]["Hold"][];
            /**
             * Format: date-time
             * @description When a cause last tried to wake the agent.
             */
            last_tried_at?: string;
            /** @description The lifecycle state of the agent. */
            lifecycle: components["schemas"]["Lifecycle"];
            /** @description Which causes may wake the agent. */
            mode: components["schemas"]["InteractionMode"];
            /** @description The queued messages, next first; at most 20. */
            queued: components["schemas"]["QueuedWake"][];
            /** @description The total number of queued messages. */
            queued_count: number;
            /** @description The number of refusals by source, reason and day, newest day first. */
            refusals: components["schemas"]["RefusalCount"][];
            /** @description The refused causes, newest first; at most 20. */
            refused: components["schemas"]["Wake"][];
            /** @description The number of schedules; counted up to 500. */
            schedule_count: number;
            /** @description The agent's schedules, sorted by next firing; at most 20. */
            schedules: components["schemas"]["NextFiring"][];
            /**
             * Format: date-time
             * @description The start of the time range.
             */
            since: string;
            /** @description The number of subscriptions; counted up to 500. */
            subscription_count: number;
            /** @description A summary in one sentence. */
            summary: string;
        };
        /** @description Why a run exists, or why it does not. */
        WhyRun: {
            /** @description The other messages that the run absorbed; at most 20. */
            absorbed: components["schemas"]["Wake"][];
            /** @description The run that absorbed the message, if it is a different one. */
            absorbed_by?: string;
            /** @description The total number of absorbed messages. */
            absorbed_count: number;
            /** @description The agent that the cause concerns. */
            agent_id: string;
            /**
             * Format: date-time
             * @description When the verdict was reached.
             */
            at: string;
            /** @description The cause. */
            cause: components["schemas"]["WakeCause"];
            /** @description The gates that were checked. */
            gates: components["schemas"]["Gate"][];
            /** @description What to change so that the cause is accepted, if it was refused. */
            hint?: string;
            /** @description The holds that keep the message from starting. */
            holds: components["schemas"]["Hold"][];
            /**
             * Format: date-time
             * @description The message does not start before this time.
             */
            not_before?: string;
            /** @description The run's key. */
            run_key: string;
            /** @description `queued`, the status of the run, or the verdict if no run was started. */
            status: components["schemas"]["RunStatus"];
            /** @description A summary in one sentence. */
            summary: string;
            /** @description The beginning of the message. */
            text?: string;
            /** @description The verdict: `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal. Absent if it was not recorded. */
            verdict?: components["schemas"]["WakeOutcome"];
        };
        /** @description A request to write to the journal. */
        WriteJournal: {
            /** @description The idempotency key: repeating a write with the same key has no further effect. */
            key?: string | null;
            /** @description The write, committed in one transaction. */
            write: components["schemas"]["JournalWrite"];
        };
        /** @description The result of a write. Repeating the write returns the same result. */
        WriteReceipt: {
            /** @description The kind of record that was written. */
            kind: components["schemas"]["RecordKind"];
            /** @description The id of the record. */
            record_id: string;
            /** @description The number of writes to the record, including this one. */
            version: number;
        };
    };
    responses: {
        /** @description The input does not match its schema; the message names the invalid part */
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
        /** @description Internal error; the log contains the details */
        Broken: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The request conflicts with the current state; the code gives the reason */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The request comes from a foreign page, or its login is not sufficient */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The head of the request is too large; the response has no body */
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
        /** @description The object does not exist */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The Content-Type of the body is not JSON */
        NotJson: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The body did not arrive in time */
        RequestTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Too many requests within a minute; wait for the time in Retry-After */
        TooManyRequests: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description The request has no valid token */
        Unauthorized: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorBody"];
            };
        };
        /** @description Temporarily unavailable: starting, stopping, overloaded, or the database does not respond */
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
                /** @description Also return private agents, which are temporary and created for one run. */
                include_private?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents, sorted by name */
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
            /** @description The agent was created */
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
            /** @description An agent with this name exists, or a setting is invalid, for example an unknown tool or a model that its provider does not list */
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
            /** @description The agent is active */
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
    get_audit_entry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                agent_id: string;
                /** @description The sequence number of the event. */
                seq: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entry */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The agent does not exist, or the event has no entry (`audit_entry_unknown`) */
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
            /** @description The agent is destroyed */
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
            /** @description A run of the agent is in progress */
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
            /** @description The agent is dormant */
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
            /** @description The contents are erased */
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
            /** @description The agent or the run does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The run has not ended, the last event precedes the first, or the log changed at the same time */
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
                /** @description The maximum number of events in a page. */
                limit?: number;
                /** @description Return only events with a greater sequence number, oldest first. If absent, a page begins with the first event and a stream with the next new one. */
                after_seq?: number;
                /** @description Return only events with a smaller sequence number. Without `after_seq`, returns the newest of them, oldest first. Not allowed for streams. */
                before_seq?: number;
                /** @description For a stream in a browser: a single-use ticket that replaces the header `X-Wakeful-Token`. */
                ticket?: string;
            };
            header?: {
                /** @description For streams: the id of the last event received; ignored for pages */
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
                /** @description The idempotency key, like `key` in the body */
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
            /** @description The message is stored; its run starts now or later */
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
            /** @description The key was already used for a different message, the two keys differ, an attachment does not match its media type, the schema of the answer cannot be used (`bad_answer_schema`), or the model, the workspace or a tool does not exist */
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
            /** @description The mode is set */
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
            /** @description The agent is paused; a run in progress continues to its end */
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
    get_agent_policy: {
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
            /** @description The policies, in the order in which one of them gives its name to a verdict */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPolicy"];
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
    explain_call: {
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
                "application/json": components["schemas"]["ExplainCall"];
            };
        };
        responses: {
            /** @description The verdict, what decided it, and which single change makes it less strict */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyExplanation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The workspace of the agent cannot be used */
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
            /** @description The queue is empty */
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
            /** @description The agent is running */
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
                /** @description Return only runs that are older than this one. */
                before?: string;
                /** @description Return only runs with one of these statuses, separated by commas. */
                status?: string;
                /** @description The maximum number of runs. */
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
    get_agent_settings: {
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
            /** @description The settings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentSettings"];
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
    change_agent_settings: {
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
                "application/json": components["schemas"]["ChangeAgentSettings"];
            };
        };
        responses: {
            /** @description The settings after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentSettings"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description A setting is invalid, for example an unknown tool, agent, category or model */
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
            /** @description The agent is asleep */
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
            /** @description The time is in the past, or the agent is destroyed */
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
            /** @description The spending per day */
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
            /** @description The agent is stopped; a run in progress continues to its end */
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
    list_agent_threads: {
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
            /** @description The conversations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadList"];
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
    get_agent_transcript: {
        parameters: {
            query?: {
                /** @description The maximum number of entries, counted from the newest. */
                limit?: number;
                /** @description The conversation. Defaults to `cli`. */
                thread?: string;
            };
            header?: never;
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The transcript */
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
            /** @description The agent is not asleep */
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
            /** @description The agent is stopped or destroyed */
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
                /** @description The start of the time range. Defaults to one day ago. */
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
            /** @description The refused causes, the queued messages and the current holds */
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
    list_attention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What needs a person */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttentionList"];
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
    dismiss_attention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DismissAttention"];
            };
        };
        responses: {
            /** @description What still needs a person */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttentionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
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
    list_audit_entries: {
        parameters: {
            query?: {
                /** @description Return only entries of this agent. */
                agent_id?: string;
                /** @description Return only entries of this run. */
                run_key?: string;
                /** @description Return only entries about this tool. */
                tool?: string;
                /** @description Return only entries with this decision. */
                decision?: components["schemas"]["AuditDecision"];
                /** @description Return only entries that this stage decided. */
                stage?: components["schemas"]["GateStage"];
                /** @description Return only entries of this time or later. */
                since?: string;
                /** @description Return only entries of this time or earlier. */
                until?: string;
                /** @description The cursor of an earlier response with the same filters, to continue from there. */
                cursor?: string;
                /** @description The maximum number of entries. A page can be shorter, because a request examines a limited number of entries. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The agent or the run does not exist (`agent_unknown`, `run_unknown`) */
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
            /** @description The brake is in force */
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
            /** @description The agent does not exist */
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
            /** @description The brakes that are still set */
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
            /** @description The caller is a tool process of an agent (`caller_is_tool_process`) */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The agent does not exist */
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
            /** @description The budget */
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
            /** @description The cap applies from the next request on */
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
            /** @description The agent does not exist */
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
    list_limits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limits */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BudgetLimit"][];
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
    set_limit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetLimit"];
            };
        };
        responses: {
            /** @description The limit applies to work that starts from now on */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BudgetLimit"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The agent does not exist */
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
    change_limit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the limit, or its first digits. */
                limit_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeLimit"];
            };
        };
        responses: {
            /** @description The changed limit */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BudgetLimit"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The limit does not exist */
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
    clear_limit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                limit_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limit as it was */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BudgetLimit"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The limit does not exist */
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
    list_decisions: {
        parameters: {
            query?: {
                /** @description Return only pending decisions. With `false`, closed decisions are included and the newest come first. */
                pending?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The decisions */
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
                /** @description The decision's id, or its first digits. */
                decision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The decision */
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
            /** @description Several ids begin with these digits */
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
                /** @description The decision's id, or its first digits. */
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
            /** @description The answer is stored, and the run continues */
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
            /** @description This channel may not answer the decision (`answer_not_allowed`), or the caller is a tool process of an agent (`caller_is_tool_process`) */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The decision does not exist, or it does not have this option (`option_unknown`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The decision is closed (`decision_closed`), has changed since it was read (`decision_changed`), or several ids begin with these digits */
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
                /** @description The cursor of an earlier response, to continue from there. If absent, a page contains the newest events and a stream begins with the next new one. */
                cursor?: string;
                /** @description For a stream in a browser: a single-use ticket that replaces the header `X-Wakeful-Token`. */
                ticket?: string;
                /** @description The maximum number of events in a page. */
                limit?: number;
            };
            header?: {
                /** @description For streams: the id of the last event received; ignored for pages */
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
            /** @description The cursor is unknown */
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
                /** @description The idempotency key, like `key` in the body */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The name of the event. */
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
            /** @description The records of the firings, one per schedule */
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
            /** @description Two different keys were given, or too many schedules wait for the event */
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
            /** @description The delivery is accepted, or was accepted before */
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
            /** @description The trigger does not exist, was revoked, or has a different path */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The agent does not accept messages now; the code gives the reason */
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
    list_folders: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The folders, by path */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustedFolder"][];
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
    trust_folder: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrustFolder"];
            };
        };
        responses: {
            /** @description The answer is recorded */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustedFolder"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The folder does not exist (`folder_unknown`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The answer could not be recorded */
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
    list_untrusted_files: {
        parameters: {
            query: {
                /** @description The path of the folder. */
                folder: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The files */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FolderReview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The folder does not exist (`folder_unknown`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The record cannot be read */
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
    review_folder: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewFolder"];
            };
        };
        responses: {
            /** @description What is left to review */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FolderReview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The folder does not exist (`folder_unknown`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The record cannot be changed */
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
            /** @description The category was created */
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
            /** @description The name is taken, or the key was already used for a different write */
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
                /** @description Return only changes after this sequence number. */
                after_seq?: number;
                /** @description The maximum number of changes. The last transaction is always returned complete. */
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
                /** @description Return only notes about this task. */
                task_id?: string;
                /** @description The maximum number of notes. */
                limit?: number;
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
            /** @description The note was created */
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
            /** @description The task does not exist */
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
                /** @description The kind of record. */
                kind: components["schemas"]["RecordListKind"];
                /** @description Return only records that belong to this record. */
                related_id?: string;
                /** @description Return only records of this day. */
                date?: string;
                /** @description Return only time entries that are running. */
                running?: boolean;
                /** @description For the kind `any`: the first digits of the id. */
                prefix?: string;
                /** @description The maximum number of records. */
                limit?: number;
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
            /** @description The record that `related_id` requires for this kind is not given */
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
            /** @description The sagas that have not finished */
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
            /** @description No stuck saga has this id */
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
                /** @description Return only tasks with this status. */
                status?: components["schemas"]["TaskStatus"];
                /** @description Return only tasks whose id begins with these digits. */
                prefix?: string;
                /** @description The maximum number of tasks. */
                limit?: number;
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
            /** @description The task was created */
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
            /** @description The category does not exist */
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
            /** @description The task was updated */
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
            /** @description The task or the category does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Nothing would change, or the key was already used for a different write */
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
            /** @description The write is committed */
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
            /** @description The record does not exist */
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
            /** @description All logins are revoked */
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
            /** @description The login is revoked */
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
            /** @description The login is ended, and the cookie is deleted in the browser */
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
    list_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelChoice"][];
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
    get_open_api: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The OpenAPI document */
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
            /** @description The privacy receipts */
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
            /** @description The provider is confirmed for every policy version */
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
    list_providers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The providers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelProvider"][];
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
    add_provider: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddProvider"];
            };
        };
        responses: {
            /** @description The provider was added */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedProvider"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description A provider with this name exists, its address is invalid, or it refuses the key, and nothing was stored */
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
    find_local_providers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The servers that responded with a list of models */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LocalProvider"][];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
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
    set_provider_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The provider. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetProviderKey"];
            };
        };
        responses: {
            /** @description The key is stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredKey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The provider does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The provider refuses the key, and nothing was stored */
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
    remove_provider_key: {
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
            /** @description The provider has no stored key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelProvider"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The provider does not exist */
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
    test_provider: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The provider. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestProvider"];
            };
        };
        responses: {
            /** @description The result of the test */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderTest"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The provider does not exist */
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
    list_runs: {
        parameters: {
            query?: {
                /** @description Return only runs of this agent. */
                agent_id?: string;
                /** @description Return only runs with one of these statuses, separated by commas. `open` includes `waiting`. */
                status?: string;
                /** @description Return only runs that were started by this kind of message. */
                cause?: components["schemas"]["MessageKind"];
                /** @description Return only runs that started at this time or later. */
                since?: string;
                /** @description Return only runs that started at this time or earlier. */
                until?: string;
                /** @description Return only runs whose message contains this text, in upper or lower case, or whose key begins with it. */
                search?: string;
                /** @description The maximum number of runs. A page can be shorter, because a request examines a limited number of runs. */
                limit?: number;
                /** @description Return only runs that are older than this one. */
                before?: string;
                /** @description Return only runs whose key begins with these digits; with at least four digits also runs with a decision or a step whose id begins with them. At most five runs are returned, and more than one if the prefix is ambiguous. The other parameters are ignored. */
                prefix?: string;
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
            /** @description The agent does not exist */
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
            /** @description The run has ended */
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
            /** @description The run is not quarantined (`run_not_quarantined`) */
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
            /** @description The current run; an open run ends at its next safe point */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description The cancellation is in force and not stored in the database yet */
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
    get_run_changes: {
        parameters: {
            query?: {
                /** @description Whether to leave out the diff and return only the list of files. */
                files_only?: boolean;
                /** @description Return only changes of this file or folder of the workspace. */
                path?: string;
            };
            header?: never;
            path: {
                /** @description The run's key. */
                run_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changed files and the unified diff */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunChanges"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The run does not exist (`run_unknown`) or has no snapshot (`snapshot_missing`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The snapshots are in use (`snapshot_locked`) */
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
            /** @description The run is open again */
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
            /** @description The run is not quarantined (`run_not_quarantined`) */
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
    retry_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's key. */
                run_key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetryRun"];
            };
        };
        responses: {
            /** @description The message is stored; its run starts now or later */
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
            /** @description The run or the step does not exist (`run_unknown`, `step_unknown`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The run has not ended (`run_open`), is quarantined (`run_quarantined`), its message or the conversation before the step was erased (`run_erased`) or pruned (`run_pruned`), another retry of it has not ended (`retry_open`), or the model does not exist */
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
    get_run_step: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_key: string;
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The step */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Step"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The run or the step does not exist (`run_unknown`, `step_unknown`) */
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
    explain_step: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_key: string;
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The verdict now, what decides it, and the recorded verdict */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyExplanation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The run or the step does not exist (`run_unknown`, `step_unknown`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The step is not a call, or its arguments are not stored in full */
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
    undo_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The run's key. */
                run_key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UndoRun"];
            };
        };
        responses: {
            /** @description What was restored, removed and skipped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UndoReport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The run does not exist (`run_unknown`) or has no snapshot (`snapshot_missing`) */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The run has not ended (`run_open`), another run works in the workspace (`workspace_busy`), or there is no usable snapshot (`snapshot_unavailable`) */
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
            /** @description The cause, the verdict and the gates */
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
            /** @description The daemon is shutting down */
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
                /** @description Return only schedules of this agent. */
                agent_id?: string;
                /** @description Return only schedules whose name sorts after this one. */
                after?: string;
                /** @description The maximum number of schedules. */
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
            /** @description The schedule was created */
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
            /** @description The agent does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The name is taken, the agent is destroyed, or the pattern never fires */
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
            /** @description The schedule was updated */
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
            /** @description The schedule is disabled, or its new pattern never fires */
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
            /** @description The schedule is disabled */
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
                /** @description The maximum number of records. */
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
            /** @description The schedule is paused */
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
            /** @description The schedule is active */
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
            /** @description The record of the firing */
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
    list_secrets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secrets */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"][];
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
    set_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetSecret"];
            };
        };
        responses: {
            /** @description The secret is stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description The secret could not be stored */
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
    remove_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret was removed; as it was before */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            /** @description The caller is a process that an agent started */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description The secret does not exist */
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
    list_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsList"];
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
    change_setting: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeSetting"];
            };
        };
        responses: {
            /** @description The settings after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            /** @description The setting is unknown, its value is invalid, its provider does not list the model, or the file is invalid */
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
            /** @description The source is watched */
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
            /** @description The name or the path is taken, there are too many sources, or the source cannot be watched */
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
            /** @description The removed source */
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
            /** @description The result of the scan */
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
            /** @description The source cannot be read; the message gives the reason */
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
            /** @description The default agent has not been created yet */
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
            /** @description The default agent has not been created yet */
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
                /** @description Return only subscriptions of this agent. */
                agent_id?: string;
                /** @description Return only subscriptions whose name sorts after this one. */
                after?: string;
                /** @description The maximum number of subscriptions. */
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
            /** @description The agent does not exist */
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
            /** @description The subscription exists */
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
            /** @description The agent does not exist */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description The name is taken, there are too many subscriptions, or the specification is too large */
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
    edit_subscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The subscription's name. */
                subscription_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditSubscription"];
            };
        };
        responses: {
            /** @description The subscription with its terms */
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
            408: components["responses"]["RequestTimeout"];
            /** @description The specification is too large */
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
            /** @description The deleted subscription */
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
            /** @description The subscription is paused */
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
            /** @description The subscription is active */
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
    list_tools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tools */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolList"];
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
    get_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is alive */
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
            /** @description The browser is logged in; the response header contains the cookie */
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
            /** @description The link was used or has expired (`login_link_expired`) */
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
            /** @description The metrics */
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
            /** @description The daemon is ready */
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
            /** @description The daemon is recovering, failing or stopping */
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

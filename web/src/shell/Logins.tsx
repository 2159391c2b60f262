import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { revokeLogin } from "../api/calls";
import { loginsQuery } from "../api/queries";
import type { Login } from "../api/types";
import { labels } from "../labels";
import { Badge } from "../ui/Badge";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { Time } from "../ui/Time";

/** The logged-in browsers, each with a button that revokes its login. */
export function Logins({ onClose, onLogout }: { onClose: () => void; onLogout: () => void }) {
  const list = useQuery(loginsQuery);
  return (
    <Dialog title={labels.login.list} onClose={onClose}>
      {list.error && (
        <ErrorNotice action={labels.login.listAction} error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <Skeleton lines={2} label={labels.login.loading} />}
      <ul className="logins">
        {list.data?.map((login) => (
          <LoginRow key={login.id} login={login} onLogout={onLogout} />
        ))}
      </ul>
    </Dialog>
  );
}

function LoginRow({ login, onLogout }: { login: Login; onLogout: () => void }) {
  const client = useQueryClient();
  const revoking = useMutation({
    mutationFn: () => revokeLogin(login.id),
    onSuccess: () => client.invalidateQueries({ queryKey: loginsQuery.queryKey }),
  });
  const revoke = () => (login.is_current ? onLogout() : revoking.mutate());
  return (
    <li className="login-row">
      <div>
        <p className="login-name">
          <b>{login.name}</b> <code>{login.id}</code>{" "}
          {login.is_current && <Badge tone="good">{labels.login.current}</Badge>}
        </p>
        <p className="quiet">
          {labels.login.lastUsed} <Time at={login.last_used_at} />, {labels.login.loggedIn}{" "}
          <Time at={login.created_at} />, {labels.login.expires} <Time at={login.expires_at} isFuture />
        </p>
      </div>
      <button
        type="button"
        className="button small"
        aria-label={labels.login.revokeOne(login.name, login.id)}
        onClick={revoke}
        disabled={revoking.isPending}
      >
        {labels.login.revoke}
      </button>
      {revoking.error && <ErrorNotice action={labels.login.revokeAction} error={revoking.error} />}
    </li>
  );
}

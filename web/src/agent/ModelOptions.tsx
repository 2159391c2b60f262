import { useQuery } from "@tanstack/react-query";
import { localProvidersQuery, modelsQuery } from "../api/queries";
import { labels } from "../labels";

/** The models to choose from, as suggestions of the field whose `list` has this id: those that can be used now first. */
export function ModelOptions({ id }: { id: string }) {
  const models = useQuery(modelsQuery).data ?? [];
  // A person who chooses a model asks for those of the servers on this machine, too.
  const local = useQuery({ ...localProvidersQuery, enabled: true, retry: false }).data ?? [];
  const running = local.flatMap((provider) => provider.models);
  const others = models.filter((model) => !running.includes(model.model_ref));
  const isUsable = (usable: boolean) => others.filter((model) => model.is_usable === usable);
  return (
    <datalist id={id}>
      {isUsable(true).map((model) => (
        <option key={model.model_ref} value={model.model_ref} />
      ))}
      {running.map((reference) => (
        <option key={reference} value={reference} label={labels.provider.onThisMachine} />
      ))}
      {isUsable(false).map((model) => (
        <option key={model.model_ref} value={model.model_ref} label={labels.provider.noKeyYet} />
      ))}
    </datalist>
  );
}

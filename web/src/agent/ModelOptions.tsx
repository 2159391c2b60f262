import { useQuery } from "@tanstack/react-query";
import { modelsQuery } from "../api/queries";

/** The models to choose from, as suggestions of the field whose `list` has this id. */
export function ModelOptions({ id }: { id: string }) {
  const models = useQuery(modelsQuery).data ?? [];
  return (
    <datalist id={id}>
      {models.map((model) => (
        <option key={model.model_ref} value={model.model_ref} />
      ))}
    </datalist>
  );
}

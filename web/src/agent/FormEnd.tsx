import { labels } from "../labels";

interface FormEndProps {
  isChanged: boolean;
  onDiscard: () => void;
  isSaving: boolean;
  button: string;
  /** That the form was saved, until it changes again. */
  saved?: string;
}

/** The end of a long form, always visible: whether something is unsaved, and the buttons. */
export function FormEnd({ isChanged, onDiscard, isSaving, button, saved }: FormEndProps) {
  return (
    <div className="form-bar">
      <p className="quiet" role="status">
        {isChanged ? labels.common.unsaved : saved}
      </p>
      {isChanged && (
        <button type="button" className="button" onClick={onDiscard} disabled={isSaving}>
          {labels.common.discardChanges}
        </button>
      )}
      <button type="submit" className="button primary" disabled={isSaving}>
        {button}
      </button>
    </div>
  );
}

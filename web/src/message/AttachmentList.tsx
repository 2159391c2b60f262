import type { AttachmentInput } from "../api/types";
import { labels } from "../labels";
import { formatBytes } from "../text/number";
import { Icon } from "../ui/Icon";
import { bytesOf } from "./attachment";

interface AttachmentListProps {
  attachments: readonly AttachmentInput[];
  /** Removes a file before the message is sent. */
  onRemove?: (index: number) => void;
}

/** The files of a message: a picture or an icon, the name and the size of each. */
export function AttachmentList({ attachments, onRemove }: AttachmentListProps) {
  if (attachments.length === 0) return null;
  return (
    <ul className="attachments" aria-label={labels.message.attachments}>
      {attachments.map((one, index) => (
        <li key={index}>
          {one.media_type.startsWith("image/") && one.data !== "" ? (
            <img src={`data:${one.media_type};base64,${one.data}`} alt="" />
          ) : (
            <Icon name="clip" />
          )}
          <span className="attachment-name">{one.name}</span>
          <span className="quiet">{formatBytes(bytesOf(one))}</span>
          {onRemove && (
            <button
              type="button"
              className="icon-button"
              aria-label={labels.message.removeFile(one.name)}
              onClick={() => onRemove(index)}
            >
              <Icon name="cross" />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

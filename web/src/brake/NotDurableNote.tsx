import type { NotDurable } from "../api/types";

const REASONS: Record<string, string> = {
  disk_full: "the disk is full",
  database_unreachable: "the database cannot be reached",
  database_slow: "the database does not answer",
  storage_failed: "the disk fails or does not answer",
};

/** Says that a brake or a cancellation works, and that the database does not have it yet. */
export function NotDurableNote({ notDurable }: { notDurable: NotDurable | undefined }) {
  if (notDurable === undefined) return null;
  return (
    <p className="not-durable">
      In force, but not saved in the database yet: {REASONS[notDurable.code] ?? notDurable.code}.{" "}
      {notDurable.is_kept
        ? "A restart does not end it."
        : "A restart of the daemon ends it, because the home could not keep it either."}{" "}
      It is saved as soon as that is possible.
    </p>
  );
}

import type { ReactNode } from "react";
import { useArming } from "./useArming";

interface ArmedButtonProps {
  children: ReactNode;
  onPress: () => void;
  disabled?: boolean;
}

/** A button of a card. It ignores clicks right after it appeared or moved: they were meant for what was there before. */
export function ArmedButton({ children, onPress, disabled }: ArmedButtonProps) {
  const { ref, isArmed, whenArmed } = useArming<HTMLButtonElement>();
  return (
    <button
      ref={ref}
      type="button"
      className="button small"
      aria-disabled={!isArmed || undefined}
      onClick={whenArmed(onPress)}
      disabled={disabled}
    >
      {children}
    </button>
  );
}

import { type RefObject, useLayoutEffect, useRef } from "react";

/** Gives style sheets the height of an element, as a property of the page. */
export function useMeasuredHeight(property: string): RefObject<HTMLFormElement | null> {
  const element = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const measure = () => style.setProperty(property, `${element.current?.offsetHeight ?? 0}px`);
    const observer = new ResizeObserver(measure);
    if (element.current) observer.observe(element.current);
    measure();
    return () => {
      observer.disconnect();
      style.removeProperty(property);
    };
  }, [property]);
  return element;
}

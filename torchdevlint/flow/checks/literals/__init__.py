"""Devices that are named though the code knows a better one (TDL012, TDL501, TDL502), or are none (TDL303)."""

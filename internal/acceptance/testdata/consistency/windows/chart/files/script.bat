@echo off
echo {{ not a template }}

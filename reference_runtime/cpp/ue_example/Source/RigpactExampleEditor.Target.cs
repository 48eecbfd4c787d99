using UnrealBuildTool;

public class RigpactExampleEditorTarget : TargetRules
{
    public RigpactExampleEditorTarget(TargetInfo Target) : base(Target)
    {
        Type = TargetType.Editor;
        DefaultBuildSettings = BuildSettingsVersion.Latest;
        IncludeOrderVersion = EngineIncludeOrderVersion.Latest;
        ExtraModuleNames.Add("RigpactExample");
    }
}

package immutable_test

// row is an update of one object. The API server refuses it if fields is not empty.
type row struct {
	// with are objects that exist before.
	with          string
	before, after string
	fields        []string
	// unknown is true if the field is not reported without the live object.
	unknown bool
	// bound is true if the claim is bound before the update.
	bound bool
}

const (
	job     = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\n"
	pod     = "{restartPolicy: Never, containers: [{name: a, image: IMAGE}]}"
	labels  = "metadata: {labels: {app: NAME}}"
	service = "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\n"
	// The claims of a StatefulSet would stay, so it has no pods.
	set     = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: NAME}\n"
	pods    = "replicas: 0, selector: {matchLabels: {app: NAME}}, template: {" + labels + ", spec: {containers: [{name: a, image: IMAGE}]}}"
	claim   = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: NAME}\n"
	volume  = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: NAME}\n"
	config  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
	opaque  = "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME}\n"
	subject = "subjects: [{kind: User, name: a, apiGroup: rbac.authorization.k8s.io}]\n"
	class   = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NAME}\n"
	driver  = "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: NAME}\n"
	rank    = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NAME}\n"
	onePod  = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n"
)

// rows returns the changes that are known, and changes beside them that Kubernetes allows.
func rows() map[string]row {
	workload := func(kind, selector string) string {
		return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: NAME}\nspec: {selector: {matchLabels: {" + selector + "}}, template: {metadata: {labels: {app: NAME, tier: a}}, spec: {containers: [{name: a, image: IMAGE}]}}}"
	}
	template := func(spec string) string { return job + "spec: {template: {spec: " + spec + "}}" }
	suspended := func(spec string) string { return job + "spec: {suspend: true, template: {spec: " + spec + "}}" }
	indexed := func(completions, parallelism string) string {
		return job + "spec: {completionMode: Indexed, completions: " + completions + ", parallelism: " + parallelism + ", template: {spec: " + pod + "}}"
	}
	binding := func(kind, role string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: NAME}\n" + subject + "roleRef: {kind: ClusterRole, name: " + role + ", apiGroup: rbac.authorization.k8s.io}"
	}
	claims := func(template string) string {
		return set + "spec: {serviceName: a, " + pods + ", volumeClaimTemplates: [" + template + "]}"
	}
	sized := func(size string) string {
		return claim + "spec: {storageClassName: NAME, accessModes: [ReadWriteOnce], resources: {requests: {storage: " + size + "}}}"
	}
	const growing = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NAME}\nprovisioner: example.com/a\nallowVolumeExpansion: true\n---\n" +
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: NAME}\nspec: {storageClassName: NAME, capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}, claimRef: {namespace: default, name: NAME}}"
	const oneClaim = "{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
	definition := func(scope string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: immutables.example.com}\n" +
			"spec: {group: example.com, scope: " + scope + ", names: {kind: Immutable, plural: immutables}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}"
	}
	return map[string]row{
		"job image":            {before: template(pod), after: template("{restartPolicy: Never, containers: [{name: a, image: OTHER}]}"), fields: []string{"spec.template"}},
		"job labels":           {before: template(pod), after: job + "spec: {template: {metadata: {labels: {a: b}}, spec: " + pod + "}}", fields: []string{"spec.template"}},
		"job env removed":      {before: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, env: [{name: A, value: a}]}]}"), after: template(pod), fields: []string{"spec.template"}},
		"job env order":        {before: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, env: [{name: A, value: a}, {name: B, value: b}]}]}"), after: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, env: [{name: B, value: b}, {name: A, value: a}]}]}"), fields: []string{"spec.template"}},
		"job args":             {before: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, args: [a, b]}]}"), after: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, args: [a]}]}"), fields: []string{"spec.template"}},
		"job requests added":   {before: template(pod), after: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, resources: {requests: {cpu: 1}}}]}"), fields: []string{"spec.template"}},
		"job requests removed": {before: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}]}"), after: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, resources: {limits: {cpu: 1}}}]}"), fields: []string{"spec.template"}},
		"job defaults": {before: template(pod), after: template("{restartPolicy: Never, dnsPolicy: ClusterFirst, terminationGracePeriodSeconds: 30, schedulerName: default-scheduler, hostNetwork: false, " +
			"containers: [{name: a, image: IMAGE, imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File, stdin: false, command: []}]}")},
		"job defaults removed": {before: template("{restartPolicy: Never, dnsPolicy: ClusterFirst, terminationGracePeriodSeconds: 30, containers: [{name: a, image: a, imagePullPolicy: Always, ports: [{containerPort: 80, protocol: TCP}]}]}"), after: template("{restartPolicy: Never, containers: [{name: a, image: a, ports: [{containerPort: 80}]}]}")},
		"job quantity": {
			before: template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, resources: {limits: {cpu: 500m, memory: 1Gi}, requests: {cpu: 500m}}}]}"),
			after:  template("{restartPolicy: Never, containers: [{name: a, image: IMAGE, resources: {limits: {cpu: 0.5, memory: 1024Mi}, requests: {cpu: 0.5}}}]}"),
		},
		"job mode given":             {before: template(pod), after: job + "spec: {completionMode: NonIndexed, completions: 1, template: {spec: " + pod + "}}"},
		"job unknown field":          {before: template("{restartPolicy: Never, unknown: a, containers: [{name: a, image: IMAGE}]}"), after: job + "spec: {parallelism: 2, template: {spec: {restartPolicy: Never, unknown: a, containers: [{name: a, image: IMAGE}]}}}"},
		"job parallelism":            {before: template(pod), after: job + "spec: {parallelism: 2, backoffLimit: 1, template: {spec: " + pod + "}}"},
		"job completions":            {before: job + "spec: {completions: 2, template: {spec: " + pod + "}}", after: job + "spec: {completions: 3, template: {spec: " + pod + "}}", fields: []string{"spec.completions"}},
		"job mode":                   {before: indexed("2", "2"), after: job + "spec: {completions: 2, parallelism: 2, completionMode: NonIndexed, template: {spec: " + pod + "}}", fields: []string{"spec.completionMode"}},
		"job elastic":                {before: indexed("2", "2"), after: indexed("3", "3")},
		"job elastic, not in tandem": {before: indexed("2", "2"), after: indexed("3", "2"), fields: []string{"spec.completions"}},
		"job selector":               {before: template(pod), after: job + "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: " + pod + "}}", fields: []string{"spec.selector", "spec.template"}},
		"job policies":               {before: indexed("2", "2"), after: job + "spec: {completionMode: Indexed, completions: 2, parallelism: 2, backoffLimitPerIndex: 1, successPolicy: {rules: [{succeededCount: 1}]}, podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [3]}}]}, template: {spec: " + pod + "}}", fields: []string{"spec.backoffLimitPerIndex", "spec.podFailurePolicy", "spec.successPolicy"}},
		"job suspended, moved":       {before: suspended(pod), after: suspended("{restartPolicy: Never, nodeSelector: {a: b}, tolerations: [{key: a, operator: Exists}], containers: [{name: a, image: IMAGE}]}")},
		"job suspended, image":       {before: suspended(pod), after: suspended("{restartPolicy: Never, containers: [{name: a, image: OTHER}]}"), fields: []string{"spec.template"}},

		"deployment selector":  {before: workload("Deployment", "app: NAME"), after: workload("Deployment", "app: NAME, tier: a"), fields: []string{"spec.selector"}},
		"deployment, less":     {before: workload("Deployment", "app: NAME, tier: a"), after: workload("Deployment", "app: NAME"), fields: []string{"spec.selector"}},
		"deployment replicas":  {before: workload("Deployment", "app: NAME"), after: workload("Deployment", "app: NAME") + "\n"},
		"daemon set selector":  {before: workload("DaemonSet", "app: NAME"), after: workload("DaemonSet", "app: NAME, tier: a"), fields: []string{"spec.selector"}},
		"replica set selector": {before: workload("ReplicaSet", "app: NAME"), after: workload("ReplicaSet", "app: NAME, tier: a"), fields: []string{"spec.selector"}},

		"set service":      {before: set + "spec: {serviceName: a, " + pods + "}", after: set + "spec: {serviceName: b, " + pods + "}", fields: []string{"spec.serviceName"}},
		"set pod policy":   {before: set + "spec: {serviceName: a, " + pods + "}", after: set + "spec: {serviceName: a, podManagementPolicy: Parallel, " + pods + "}", fields: []string{"spec.podManagementPolicy"}},
		"set claims":       {before: claims(oneClaim), after: claims("{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}"), fields: []string{"spec.volumeClaimTemplates"}},
		"set claim added":  {before: set + "spec: {serviceName: a, " + pods + "}", after: claims(oneClaim), fields: []string{"spec.volumeClaimTemplates"}},
		"set claim class":  {before: claims(oneClaim), after: claims("{metadata: {name: d}, spec: {storageClassName: a, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"), fields: []string{"spec.volumeClaimTemplates"}},
		"set claims alike": {before: claims(oneClaim), after: claims("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: {volumeMode: Filesystem, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}")},
		"set allowed": {before: set + "spec: {serviceName: a, " + pods + "}", after: set + "spec: {serviceName: a, podManagementPolicy: OrderedReady, replicas: 2, minReadySeconds: 1, ordinals: {start: 1}, updateStrategy: {rollingUpdate: {partition: 1}}, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, " +
			"selector: {matchLabels: {app: NAME}}, template: {" + labels + ", spec: {containers: [{name: a, image: OTHER}]}}}"},

		"pod image":    {before: onePod + "spec: " + pod, after: onePod + "spec: {restartPolicy: Never, activeDeadlineSeconds: 100, tolerations: [{key: a, operator: Exists}], containers: [{name: a, image: OTHER}]}"},
		"pod env":      {before: onePod + "spec: " + pod, after: onePod + "spec: {restartPolicy: Never, containers: [{name: a, image: IMAGE, env: [{name: A, value: a}]}]}", fields: []string{"spec.containers"}},
		"pod node":     {before: onePod + "spec: " + pod, after: onePod + "spec: {nodeSelector: {a: b}, restartPolicy: Never, containers: [{name: a, image: IMAGE}]}", fields: []string{"spec.nodeSelector"}},
		"pod gated":    {before: onePod + "spec: {schedulingGates: [{name: a}], containers: [{name: a, image: IMAGE}]}", after: onePod + "spec: {schedulingGates: [{name: a}], nodeSelector: {a: b}, containers: [{name: a, image: IMAGE}]}"},
		"pod requests": {before: onePod + "spec: {containers: [{name: a, image: IMAGE, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}]}", after: onePod + "spec: {containers: [{name: a, image: IMAGE, resources: {limits: {cpu: 1}}}]}"},
		"pod label":    {before: onePod + "spec: " + pod, after: "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, labels: {a: b}}\nspec: " + pod},

		"service headless":    {before: service + "spec: {ports: [{port: 80}]}", after: service + "spec: {clusterIP: None, ports: [{port: 80}]}", fields: []string{"spec.clusterIP"}},
		"service address":     {before: service + "spec: {clusterIP: None, ports: [{port: 80}]}", after: service + "spec: {clusterIP: 10.0.0.77, ports: [{port: 80}]}", fields: []string{"spec.clusterIP"}},
		"service new address": {before: service + "spec: {ports: [{port: 80}]}", after: service + "spec: {clusterIP: 10.0.0.77, ports: [{port: 80}]}", fields: []string{"spec.clusterIP"}, unknown: true},
		"service unset":       {before: service + "spec: {clusterIP: None, ports: [{port: 80}]}", after: service + "spec: {ports: [{port: 80}]}"},
		"service external":    {before: service + "spec: {ports: [{port: 80}]}", after: service + "spec: {type: ExternalName, externalName: a.example.com, ports: [{port: 80}]}"},
		"service internal":    {before: service + "spec: {type: ExternalName, externalName: a.example.com, ports: [{port: 80}]}", after: service + "spec: {type: ClusterIP, clusterIP: None, ports: [{port: 80}]}"},
		"service type":        {before: service + "spec: {ports: [{port: 80}]}", after: service + "spec: {type: NodePort, ports: [{port: 81}]}"},
		"service family":      {before: service + "spec: {ipFamilies: [IPv4], ports: [{port: 80}]}", after: service + "spec: {ipFamilies: [IPv6], ports: [{port: 80}]}", fields: []string{"spec.ipFamilies"}},
		"service same family": {before: service + "spec: {ports: [{port: 80}]}", after: service + "spec: {ipFamilies: [IPv4], ports: [{port: 80}]}"},

		"claim class":    {before: sized("1Gi"), after: claim + "spec: {storageClassName: other, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", fields: []string{"spec.storageClassName"}},
		"claim modes":    {before: sized("1Gi"), after: claim + "spec: {storageClassName: NAME, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}", fields: []string{"spec.accessModes"}},
		"claim volume":   {before: claim + "spec: {volumeName: a, storageClassName: NAME, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", after: claim + "spec: {volumeName: b, storageClassName: NAME, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", fields: []string{"spec.volumeName"}},
		"claim mode":     {before: sized("1Gi"), after: claim + "spec: {volumeMode: Block, storageClassName: NAME, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", fields: []string{"spec.volumeMode"}},
		"claim pending":  {before: sized("1Gi"), after: sized("2Gi"), fields: []string{"spec.resources.requests.storage"}, unknown: true},
		"claim grows":    {with: growing, bound: true, before: sized("1Gi"), after: sized("3Gi")},
		"claim shrinks":  {with: growing, bound: true, before: sized("1Gi"), after: sized("500Mi"), fields: []string{"spec.resources.requests.storage"}},
		"claim the same": {with: growing, bound: true, before: sized("1Gi"), after: sized("1024Mi")},

		"volume source":  {before: volume + "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}", after: volume + "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /b}}", fields: []string{"spec.hostPath"}},
		"volume mode":    {before: volume + "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: a, path: /a}}", after: volume + "spec: {volumeMode: Block, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: a, path: /a}}", fields: []string{"spec.volumeMode"}},
		"volume allowed": {before: volume + "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}", after: volume + "spec: {volumeMode: Filesystem, persistentVolumeReclaimPolicy: Retain, mountOptions: [a], storageClassName: b, capacity: {storage: 2Gi}, accessModes: [ReadWriteMany], hostPath: {path: /a}}"},

		"config map":         {before: config + "data: {a: b}", after: config + "data: {a: c}"},
		"immutable map":      {before: config + "immutable: true\ndata: {a: b}", after: config + "immutable: true\ndata: {a: c}", fields: []string{"data"}},
		"immutable key":      {before: config + "immutable: true\ndata: {a: b}", after: config + "immutable: true\ndata: {a: b, type: ''}", fields: []string{"data"}},
		"immutable undone":   {before: config + "immutable: true\ndata: {a: b}", after: config + "data: {a: b}", fields: []string{"immutable"}},
		"immutable label":    {before: config + "immutable: true\ndata: {a: b}", after: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, labels: {a: b}}\nimmutable: true\ndata: {a: b}"},
		"becomes immutable":  {before: config + "data: {a: b}", after: config + "immutable: true\ndata: {a: c}"},
		"secret type":        {before: opaque + "stringData: {a: b}", after: opaque + "type: example.com/a\nstringData: {a: b}", fields: []string{"type"}},
		"secret type unset":  {before: opaque + "type: example.com/a\nstringData: {a: b}", after: opaque + "stringData: {a: b}", fields: []string{"type"}},
		"secret type given":  {before: opaque + "stringData: {a: b}", after: opaque + "type: Opaque\nstringData: {a: c}"},
		"immutable secret":   {before: opaque + "immutable: true\nstringData: {a: b}", after: opaque + "immutable: true\nstringData: {a: c}", fields: []string{"data"}},
		"immutable notation": {before: opaque + "immutable: true\nstringData: {a: b}", after: opaque + "immutable: true\ndata: {a: Yg==}"},

		"role binding":            {before: binding("RoleBinding", "view"), after: binding("RoleBinding", "edit"), fields: []string{"roleRef"}},
		"cluster role binding":    {before: binding("ClusterRoleBinding", "view"), after: binding("ClusterRoleBinding", "edit"), fields: []string{"roleRef"}},
		"role binding subject":    {before: binding("RoleBinding", "view"), after: "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: NAME}\nroleRef: {kind: ClusterRole, name: view}"},
		"storage class":           {before: class + "provisioner: example.com/a\nparameters: {a: b}", after: class + "provisioner: example.com/b\nparameters: {a: c}\nreclaimPolicy: Retain\nvolumeBindingMode: WaitForFirstConsumer", fields: []string{"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"}},
		"storage class parameter": {before: class + "provisioner: example.com/a\nparameters: {a: b, c: d}", after: class + "provisioner: example.com/a\nparameters: {a: b}", fields: []string{"parameters"}},
		"storage class allowed":   {before: class + "provisioner: example.com/a", after: class + "provisioner: example.com/a\nreclaimPolicy: Delete\nvolumeBindingMode: Immediate\nallowVolumeExpansion: true\nmountOptions: [a]"},
		"priority class":          {before: rank + "value: 1", after: rank + "value: 2\npreemptionPolicy: Never", fields: []string{"preemptionPolicy", "value"}},
		"priority class allowed":  {before: rank + "value: 1", after: rank + "value: 1\npreemptionPolicy: PreemptLowerPriority\ndescription: a"},
		"driver":                  {before: driver + "spec: {}", after: driver + "spec: {attachRequired: false, volumeLifecycleModes: [Ephemeral]}", fields: []string{"spec.attachRequired", "spec.volumeLifecycleModes"}},
		"driver allowed":          {before: driver + "spec: {}", after: driver + "spec: {attachRequired: true, volumeLifecycleModes: [Persistent], podInfoOnMount: true, storageCapacity: true, requiresRepublish: true, fsGroupPolicy: File}"},
		"ingress class":           {before: "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: NAME}\nspec: {controller: example.com/a}", after: "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: NAME}\nspec: {controller: example.com/b}", fields: []string{"spec.controller"}},
		"runtime class":           {before: "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: NAME}\nhandler: a", after: "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: NAME}\nhandler: b", fields: []string{"handler"}},
		"custom resource":         {before: definition("Namespaced"), after: definition("Cluster"), fields: []string{"spec.scope"}},
	}
}
